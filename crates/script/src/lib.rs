//! The script language of pgbench: lexer, parser, evaluator, random numbers. No I/O.
