{{include where-rides-are.sql}}
{{any_user}}
\set type {{type}}
\set of_100 random(0, 99)
\set status {{status}}
\set address {{address}}
\set ext {{ext}}
INSERT INTO vehicles VALUES (gen_random_uuid(), :city, :type, :user_id, '{{created}}', :status, :address, :ext);
