//! A server that speaks HTTPS with a certificate made for it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// It answers as long as the process lives.
pub struct HttpsServer {
    pub url: String,
    /// Its own, to be trusted.
    pub certificate_der: Vec<u8>,
    pub certificate_pem: String,
}

impl HttpsServer {
    /// Answers each question, given as its head, with 200 and this body, or
    /// without a body with 401.
    pub fn start(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let made = made.expect("made");
        let certificate = made.cert.der().clone();
        let key = made.signing_key.serialize_der();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("usual versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.try_into().expect("a key"));
        let config = Arc::new(config.expect("they belong together"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("bound").port();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let connection = ServerConnection::new(Arc::clone(&config)).expect("usual");
                let mut client = StreamOwned::new(connection, client.expect("a client"));
                let mut request = [0; 4000];
                // One that does not trust the certificate hangs up.
                let Ok(count) = client.read(&mut request) else {
                    continue;
                };
                let answer = match answer(&String::from_utf8_lossy(&request[..count])) {
                    Some(body) => {
                        let length = body.len();
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")
                    }
                    None => "HTTP/1.1 401 Who?\r\nContent-Length: 0\r\n\r\n".to_owned(),
                };
                let _ = client.write_all(answer.as_bytes());
                client.conn.send_close_notify();
                let _ = client.flush();
            }
        });
        Self {
            url: format!("https://localhost:{port}"),
            certificate_der: certificate.to_vec(),
            certificate_pem: made.cert.pem(),
        }
    }
}
