-- Building an index once is faster than growing it.
ALTER TABLE tatp_subscriber ADD PRIMARY KEY (s_id);
ALTER TABLE tatp_access_info ADD PRIMARY KEY (s_id, ai_type);
ALTER TABLE tatp_special_facility ADD PRIMARY KEY (s_id, sf_type);
ALTER TABLE tatp_call_forwarding ADD PRIMARY KEY (s_id, sf_type, start_time);
{{include references.sql}}
