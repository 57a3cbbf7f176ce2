//! Tables behind a network: stores that speak S3, REST catalogs.

mod rest;
mod s3;
