-- The primary keys are in the schema.
{{include indexes.sql}}
