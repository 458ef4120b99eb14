{{include loop-head.sql}}
  -- Sessions update rows of their own, so that READ COMMITTED has nothing to try again.
  is_protected CONSTANT boolean := current_setting('transaction_isolation') <> 'read committed';
{{include loop-body.sql}}
