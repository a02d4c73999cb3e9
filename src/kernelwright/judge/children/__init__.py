"""The processes below a judge, a file per role; their messages; turns at a device."""
