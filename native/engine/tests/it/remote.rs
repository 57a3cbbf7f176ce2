//! Tables behind a network: stores that speak S3, REST and SQL catalogs.

mod rest;
mod s3;
mod sql;
