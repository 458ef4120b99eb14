\set customer {{any_customer}}
\set amount {{amount}}
BEGIN;
{{include customer.sql}} \gset
\set balance {{if :script = 'deposit'}}:balance + :amount{{else}}greatest(0, :balance - :amount){{end}}
\set sequence_number :sequence_number + 1
UPDATE customer SET balance = :balance, credit_limit = NULL, is_active = true, name = NULL, sequence_number = :sequence_number WHERE id = :customer;
