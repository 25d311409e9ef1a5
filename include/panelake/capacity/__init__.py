"""How large a pipeline gets, on paper: measured rates and a load in; cores, bytes, files, limits and delays out."""
