//! The arguments of the command line. Options may hold secrets, so nothing here has a `Debug` text.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use benostreamdb::SessionOptions;

const ABOUT: &str = "Query Iceberg tables by SQL, vector and text search, with persistent indexes";

const EXAMPLES: &str = "\
Examples:
  benostreamdb sql --warehouse /lake -e \"SELECT count(*) FROM sales.orders\"
  benostreamdb sql -e \"SELECT * FROM '/lake/sales/orders' LIMIT 5\" --format json
  benostreamdb describe --warehouse /lake sales.orders
  benostreamdb sql --warehouse s3://bucket/wh --option client.region=eu-west-1 \\
      -e \"SELECT count(*) FROM sales.orders\"
  benostreamdb index create /lake/sales/orders --kind bitmap --column status";

#[derive(Parser)]
#[command(name = "benostreamdb", version, about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run SQL statements
    Sql(SqlArguments),
    /// Show columns, location, snapshot and properties of a table
    Describe(DescribeArguments),
    /// Create, drop, refresh and list indexes
    #[command(subcommand)]
    Index(IndexCommand),
    /// List the snapshots of a table, oldest first
    Snapshots(TableArguments),
}

const SQL_EXAMPLES: &str = "\
Statements are separated by `;`; the first error stops. All statements of a
text are parsed before the first one runs. Without -e and -f statements come
from standard input: on a terminal that is a shell, with earlier statements in
$XDG_DATA_HOME/benostreamdb/history (or below ~/.local/share).

Examples:
  benostreamdb sql --warehouse /lake -e \"SELECT id, name FROM t WHERE id = 7\"
  benostreamdb sql --warehouse /lake
  benostreamdb sql --warehouse /lake -f changes.sql
  echo \"SELECT 1\" | benostreamdb sql
  benostreamdb sql --warehouse /lake -e \"SELECT * FROM t FOR VERSION AS OF 'v1'\"
  benostreamdb sql --warehouse /lake -e 'SELECT * FROM \"t$snapshots\"'
  benostreamdb sql -e \"SELECT * FROM '/lake/t'\" --format arrow > rows.arrows
  benostreamdb sql -e \"SELECT id, _distance FROM vector_search(
      '/lake/default/docs', 'embedding', '[0.1, 0.2, 0.3]', 10)\"";

#[derive(Args)]
#[command(after_help = SQL_EXAMPLES)]
pub(crate) struct SqlArguments {
    /// Statements to run; may be given several times
    #[arg(short = 'e', long = "execute", value_name = "SQL")]
    pub(crate) execute: Vec<String>,
    /// A file of statements, run after those of -e; `-` reads standard input
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for reading; long values are cut
    Table,
    /// A header, then a line a row; NULL is empty, no text is ""
    Csv,
    /// One JSON object a line
    Json,
    /// One Arrow IPC stream, for the one result of all statements
    Arrow,
}

/// Where tables are and how they are reached.
#[derive(Clone, Args)]
pub(crate) struct Connection {
    /// The warehouse: tables are <URI>/<namespace>/<table>
    #[arg(long, value_name = "URI")]
    pub(crate) warehouse: Option<String>,
    /// Read paths recorded under one prefix from another; repeatable
    #[arg(long = "map-prefix", value_name = "RECORDED=ACTUAL", value_parser = pair)]
    pub(crate) map_prefix: Vec<(String, String)>,
    /// An option, such as s3.endpoint or case-sensitive=false; repeatable
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) options: Vec<(String, String)>,
}

impl Connection {
    /// The options of the session.
    pub(crate) fn session_options(&self) -> SessionOptions {
        SessionOptions {
            warehouse: self.warehouse.clone(),
            options: self.options.iter().cloned().collect(),
            map_prefix: self.map_prefix.clone(),
        }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_string(), value.to_string())),
        _ => Err("expected a name and a value with = between them".to_string()),
    }
}

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  benostreamdb describe --warehouse /lake sales.orders
  benostreamdb describe /lake/sales/orders --format json";

#[derive(Args)]
#[command(after_help = DESCRIBE_EXAMPLES)]
pub(crate) struct DescribeArguments {
    #[command(flatten)]
    pub(crate) target: TableArguments,
}

#[derive(Args)]
pub(crate) struct TableArguments {
    /// A name (namespace.table) or a location
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

const CREATE_EXAMPLES: &str = "\
Kinds: bitmap (filters), bm25 (full text), hnsw (nearest vectors).

Examples:
  benostreamdb index create /lake/default/docs --kind hnsw \\
      --column embedding --with metric=cosine
  benostreamdb index create --warehouse /lake docs --kind bm25 \\
      --column body --with analyzer=english --name docs_text";

#[derive(Subcommand)]
pub(crate) enum IndexCommand {
    /// Create an index and build it for all rows
    #[command(after_help = CREATE_EXAMPLES)]
    Create {
        #[command(flatten)]
        target: TableArguments,
        /// The kind of index
        #[arg(long, value_name = "KIND")]
        kind: String,
        /// An indexed column; may be given several times
        #[arg(long = "column", value_name = "COLUMN", required = true)]
        columns: Vec<String>,
        /// The name of the index [default: <columns>_<kind>]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// A parameter of the kind; repeatable
        #[arg(long = "with", value_name = "KEY=VALUE", value_parser = pair)]
        parameters: Vec<(String, String)>,
        /// Do nothing if an index of this name exists
        #[arg(long)]
        if_not_exists: bool,
    },
    /// Drop an index
    Drop {
        #[command(flatten)]
        target: TableArguments,
        /// The name of the index
        #[arg(value_name = "INDEX")]
        name: String,
    },
    /// Index the files that one index, or every index, does not cover yet
    Refresh {
        #[command(flatten)]
        target: TableArguments,
        /// The name of the index [default: all]
        #[arg(value_name = "INDEX")]
        name: Option<String>,
    },
    /// List the indexes of a table and how much of it they cover
    List {
        #[command(flatten)]
        target: TableArguments,
    },
}
