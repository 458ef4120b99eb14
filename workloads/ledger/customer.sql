SELECT id, identifier, name, currency_code, is_system_customer, is_active, created, balance, credit_limit, sequence_number FROM customer WHERE id = :customer AND is_active = true
