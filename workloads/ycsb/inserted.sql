-- Whether the row is there that a run would have inserted as number :number.
\set ycsb_key ycsb_key({{base}} + :number, {{format}}, :zeropadding)
SELECT 1 FROM {{table}} WHERE ycsb_key = :ycsb_key;
