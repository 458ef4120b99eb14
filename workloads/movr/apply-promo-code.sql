{{include where-rides-are.sql}}
{{any_user}}
\set any {{any_id}}
SELECT coalesce((SELECT code FROM promo_codes WHERE code > :any ORDER BY code LIMIT 1), (SELECT code FROM promo_codes ORDER BY code LIMIT 1)) AS code \gset
\set code text(:code)
SELECT count(*) AS used FROM user_promo_codes WHERE city = :city AND user_id = :user_id AND code = :code \gset
\if :used = 0 and :code <> ''
INSERT INTO user_promo_codes VALUES (:city, :user_id, :code, now(), 1);
\endif
