-- The primary keys are in the schema.
{{include references.sql}}
