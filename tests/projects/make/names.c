const char *total_name(void) { return "total"; }
