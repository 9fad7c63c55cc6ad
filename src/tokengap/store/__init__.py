"""Parts, the Delta tables that hold them, and the connection that reads them."""
