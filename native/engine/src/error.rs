//! The one error type of the engine: a coarse kind that tells the caller what to do, a message that
//! names the thing, and whether trying again may help. Kinds are API, texts are not. Surfaces map
//! kinds in one total table each and never read the text.

use std::fmt;

/// What the caller should do about an error. Adding a kind is an API change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is wrong and must be changed.
    InvalidInput,
    /// The named thing does not exist.
    NotFound,
    /// The named thing exists already.
    AlreadyExists,
    /// Somebody else committed first; plan again on the new state.
    Conflict,
    /// It is unknown whether the commit landed; nothing may be deleted.
    CommitUnknown,
    /// The store or the policy refuses.
    PermissionDenied,
    /// Not supported, and not silently ignored.
    Unsupported,
    /// A store or service did not answer; trying again may help.
    Unavailable,
    /// A limit would be exceeded.
    ResourceExhausted,
    /// The caller cancelled.
    Cancelled,
    /// Stored bytes are damaged.
    Corrupt,
    /// A broken assumption of ours.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [ErrorKind; 12] = [
        ErrorKind::InvalidInput,
        ErrorKind::NotFound,
        ErrorKind::AlreadyExists,
        ErrorKind::Conflict,
        ErrorKind::CommitUnknown,
        ErrorKind::PermissionDenied,
        ErrorKind::Unsupported,
        ErrorKind::Unavailable,
        ErrorKind::ResourceExhausted,
        ErrorKind::Cancelled,
        ErrorKind::Corrupt,
        ErrorKind::Internal,
    ];

    /// The stable code of the kind across the ABI: 1 to 12.
    pub fn code(self) -> i32 {
        self as i32 + 1
    }

    /// The name users see.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::InvalidInput => "InvalidInput",
            ErrorKind::NotFound => "NotFound",
            ErrorKind::AlreadyExists => "AlreadyExists",
            ErrorKind::Conflict => "Conflict",
            ErrorKind::CommitUnknown => "CommitUnknown",
            ErrorKind::PermissionDenied => "PermissionDenied",
            ErrorKind::Unsupported => "Unsupported",
            ErrorKind::Unavailable => "Unavailable",
            ErrorKind::ResourceExhausted => "ResourceExhausted",
            ErrorKind::Cancelled => "Cancelled",
            ErrorKind::Corrupt => "Corrupt",
            ErrorKind::Internal => "Internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error of the engine.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    context: Vec<(&'static str, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    retryable: bool,
}

/// The result of every fallible call of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind`; the message is lower-case, without a full stop, and names the thing.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            context: Vec::new(),
            source: None,
            retryable: kind == ErrorKind::Unavailable,
        }
    }

    /// Adds what the callee did not know: a path, a snapshot, a column.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.context.push((key, value.to_string()));
        self
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says whether the same call may succeed later without change.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message without context.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may succeed later without change.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {
        impl Error {
            $(
                #[doc = concat!("An error of kind `", stringify!($kind), "`.")]
                pub fn $name(message: impl Into<String>) -> Self {
                    Error::new(ErrorKind::$kind, message)
                }
            )*
        }
    };
}

constructors! {
    invalid_input => InvalidInput,
    not_found => NotFound,
    already_exists => AlreadyExists,
    conflict => Conflict,
    commit_unknown => CommitUnknown,
    permission_denied => PermissionDenied,
    unsupported => Unsupported,
    unavailable => Unavailable,
    resource_exhausted => ResourceExhausted,
    cancelled => Cancelled,
    corrupt => Corrupt,
    internal => Internal,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)?;
        for (key, value) in &self.context {
            write!(f, " ({key}: {value})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|s| s as _)
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        match error {
            arrow::error::ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
                Ok(own) => *own,
                Err(other) => Error::internal(format!("arrow: {other}")),
            },
            other => Error::internal(format!("arrow: {other}")),
        }
    }
}

impl From<Error> for arrow::error::ArrowError {
    fn from(error: Error) -> Self {
        arrow::error::ArrowError::ExternalError(Box::new(error))
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        use parquet::errors::ParquetError;
        match error {
            ParquetError::External(inner) => match inner.downcast::<Error>() {
                Ok(own) => *own,
                Err(other) => match other.downcast::<object_store::Error>() {
                    Ok(store) => Error::from(*store),
                    Err(other) => Error::corrupt(format!("parquet: {other}")),
                },
            },
            ParquetError::ArrowError(text) => Error::corrupt(format!("parquet: {text}")),
            other => Error::corrupt(format!("parquet: {other}")),
        }
    }
}

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as Store;
        let kind = match &error {
            Store::NotFound { .. } => ErrorKind::NotFound,
            Store::AlreadyExists { .. } => ErrorKind::AlreadyExists,
            Store::Precondition { .. } | Store::NotModified { .. } => ErrorKind::Conflict,
            Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
                ErrorKind::PermissionDenied
            }
            Store::NotSupported { .. } | Store::NotImplemented { .. } => ErrorKind::Unsupported,
            Store::InvalidPath { .. } | Store::UnknownConfigurationKey { .. } => {
                ErrorKind::InvalidInput
            }
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, format!("store: {error}")).caused_by(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            std::io::ErrorKind::StorageFull => ErrorKind::ResourceExhausted,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, format!("i/o: {error}")).caused_by(error)
    }
}

impl From<datafusion::error::DataFusionError> for Error {
    fn from(error: datafusion::error::DataFusionError) -> Self {
        use datafusion::error::DataFusionError as Df;
        match error {
            Df::External(inner) => match inner.downcast::<Error>() {
                Ok(own) => *own,
                Err(other) => Error::internal(format!("query: {other}")),
            },
            Df::ArrowError(inner, _) => Error::from(*inner),
            Df::ParquetError(inner) => Error::from(*inner),
            Df::Context(_, inner) => Error::from(*inner),
            Df::Diagnostic(_, inner) => Error::from(*inner),
            Df::SQL(inner, _) => Error::invalid_input(format!("sql: {inner}")),
            Df::Plan(text) => Error::invalid_input(text),
            Df::SchemaError(inner, _) => Error::invalid_input(inner.to_string()),
            Df::NotImplemented(text) => Error::unsupported(text),
            Df::ResourcesExhausted(text) => Error::resource_exhausted(text),
            Df::Execution(text) => Error::invalid_input(text),
            other => Error::internal(format!("query: {other}")),
        }
    }
}

impl From<Error> for datafusion::error::DataFusionError {
    fn from(error: Error) -> Self {
        datafusion::error::DataFusionError::External(Box::new(error))
    }
}
