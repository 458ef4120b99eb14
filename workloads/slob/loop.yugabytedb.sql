{{include loop-head.sql}}
  -- Reads are restarted, too, whatever the isolation level.
  is_protected CONSTANT boolean := true;
{{include loop-body.sql}}
