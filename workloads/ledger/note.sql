\set context random_string(56)
\set response random_string(400)
\set username text(:customer)
INSERT INTO transaction (tcomment, context, response, reversed_by, created_ts, transaction_type_reference, username, external_id) VALUES (NULL, :context, :response, NULL, CURRENT_TIMESTAMP, 400, :username, 'payment:' || gen_random_uuid()::text) RETURNING external_id AS payment \gset
\set payment text(:payment)
\set amount {{amount}}
\set other {{any_customer}}
INSERT INTO entry (amount, system_amount, created_ts, transaction_id, customer_id, money_type) VALUES (:amount, 88.433571, CURRENT_TIMESTAMP, :payment, :customer, 'C'), (-:amount::decimal, -88.433571, CURRENT_TIMESTAMP, :payment, :other, 'C');
