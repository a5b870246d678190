"""Arrow tables of segments: the schema, IPC and Parquet files."""
