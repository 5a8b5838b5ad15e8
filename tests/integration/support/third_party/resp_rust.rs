// A round by redis-rs or fred: play CLIENT PORT CA|- SCENARIO.
use std::sync::Arc;
use std::time::Duration;

use fred::interfaces::{ClientLike, HashesInterface, KeysInterface, TransactionInterface};
use fred::rustls;
use fred::types::{ClusterHash, CustomCommand};

const USER: &str = "web";
const PASSWORD: &str = "Open-Sesame-7";
const ITEM: &str = "shop.product:7";

type Answer<T> = Result<T, String>;

/// A client's own way to send a command, a pipeline and a transaction. `sell` returns None if EXEC answered nil.
#[allow(async_fn_in_trait)]
trait Client: Clone + Send + 'static {
    async fn row(&self) -> Answer<Vec<String>>;
    async fn pipe(&self) -> Answer<i64>;
    fn count(&self, key: &str) -> impl std::future::Future<Output = Answer<i64>> + Send;
    async fn get(&self, key: &str) -> Answer<String>;
    async fn view(&self) -> Answer<i64>;
    async fn sell(&self, token: &str) -> Answer<Option<i64>>;
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Checks the chain of the server's certificate, which names no host.
#[derive(Debug)]
struct ChainAlone(Arc<rustls::client::WebPkiServerVerifier>);

impl rustls::client::danger::ServerCertVerifier for ChainAlone {
    fn verify_server_cert(
        &self,
        certificate: &rustls::pki_types::CertificateDer<'_>,
        others: &[rustls::pki_types::CertificateDer<'_>],
        name: &rustls::pki_types::ServerName<'_>,
        ocsp: &[u8],
        now: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        use rustls::{CertificateError, Error};
        match self.0.verify_server_cert(certificate, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(rustls::client::danger::ServerCertVerified::assertion()),
            other => other,
        }
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }
    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// redis-rs: one connection that all callers share, and that reconnects by itself.
#[derive(Clone)]
struct RedisRs(redis::aio::ConnectionManager);

impl RedisRs {
    async fn connect(port: &str, ca: &str) -> Answer<Self> {
        let scheme = if ca == "-" { "redis" } else { "rediss" };
        // It can only check a certificate together with its name, or not at all.
        let insecure = if ca == "-" { "" } else { "#insecure" };
        let url = format!("{scheme}://{USER}:{PASSWORD}@127.0.0.1:{port}/{insecure}");
        let client = redis::Client::open(url).map_err(text)?;
        let settings = redis::aio::ConnectionManagerConfig::new()
            .set_response_timeout(Some(Duration::from_secs(20)))
            .set_connection_timeout(Some(Duration::from_secs(20)));
        Ok(Self(client.get_connection_manager_with_config(settings).await.map_err(text)?))
    }
    async fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> Answer<T> {
        let mut command = redis::cmd(words[0]);
        for word in &words[1..] {
            command.arg(*word);
        }
        command.query_async(&mut self.0.clone()).await.map_err(text)
    }
}

impl Client for RedisRs {
    async fn row(&self) -> Answer<Vec<String>> {
        self.ask(&["HMGET", ITEM, "name", "price"]).await
    }
    async fn pipe(&self) -> Answer<i64> {
        let mut pipe = redis::pipe();
        for _ in 0..100 {
            pipe.cmd("INCR").arg("piped");
        }
        let answers: Vec<i64> = pipe.query_async(&mut self.0.clone()).await.map_err(text)?;
        Ok(answers[99])
    }
    async fn count(&self, key: &str) -> Answer<i64> {
        self.ask(&["INCR", key]).await
    }
    async fn get(&self, key: &str) -> Answer<String> {
        self.ask(&["GET", key]).await
    }
    async fn view(&self) -> Answer<i64> {
        self.ask(&["HINCRBY", "shop.page:1", "views", "1"]).await
    }
    async fn sell(&self, token: &str) -> Answer<Option<i64>> {
        let mut unit = redis::pipe();
        unit.atomic().cmd("ROW.ONCE").arg(token);
        unit.cmd("ROW.REQUIRE").arg(ITEM).arg("stock").arg(">=").arg("1");
        unit.cmd("HINCRBY").arg(ITEM).arg("stock").arg(-1);
        let answers: Option<(String, String, i64)> =
            unit.query_async(&mut self.0.clone()).await.map_err(text)?;
        Ok(answers.map(|(_, _, left)| left))
    }
}

/// fred: one connection that all callers share.
#[derive(Clone)]
struct Fred(fred::clients::Client);

impl Fred {
    async fn connect(port: &str, ca: &str) -> Answer<Self> {
        let url = format!("redis://{USER}:{PASSWORD}@127.0.0.1:{port}");
        let mut settings = fred::types::config::Config::from_url(&url).map_err(text)?;
        if ca != "-" {
            use rustls::pki_types::pem::PemObject;
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut roots = rustls::RootCertStore::empty();
            roots
                .add(rustls::pki_types::CertificateDer::from_pem_file(ca).map_err(text)?)
                .map_err(text)?;
            let chain = rustls::client::WebPkiServerVerifier::builder_with_provider(
                Arc::new(roots),
                provider.clone(),
            )
            .build()
            .map_err(text)?;
            let tls = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(text)?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(ChainAlone(chain)))
                .with_no_client_auth();
            settings.tls = Some(fred::types::config::TlsConnector::from(tls).into());
        }
        let client = fred::types::Builder::from_config(settings)
            .set_policy(fred::types::config::ReconnectPolicy::new_constant(0, 50))
            .build()
            .map_err(text)?;
        client.init().await.map_err(text)?;
        Ok(Self(client))
    }
}

impl Client for Fred {
    async fn row(&self) -> Answer<Vec<String>> {
        self.0.hmget(ITEM, vec!["name", "price"]).await.map_err(text)
    }
    async fn pipe(&self) -> Answer<i64> {
        let pipe = self.0.pipeline();
        for _ in 0..100 {
            let _: () = pipe.incr("piped").await.map_err(text)?;
        }
        pipe.last().await.map_err(text)
    }
    async fn count(&self, key: &str) -> Answer<i64> {
        self.0.incr(key.to_string()).await.map_err(text)
    }
    async fn get(&self, key: &str) -> Answer<String> {
        self.0.get(key).await.map_err(text)
    }
    async fn view(&self) -> Answer<i64> {
        self.0.hincrby("shop.page:1", "views", 1).await.map_err(text)
    }
    async fn sell(&self, token: &str) -> Answer<Option<i64>> {
        let command = |name: &'static str| CustomCommand::new_static(name, ClusterHash::Random, false);
        let unit = self.0.multi();
        let _: () = unit.custom(command("ROW.ONCE"), vec![token]).await.map_err(text)?;
        let _: () = unit
            .custom(command("ROW.REQUIRE"), vec![ITEM, "stock", ">=", "1"])
            .await
            .map_err(text)?;
        let _: () = unit.hincrby(ITEM, "stock", -1).await.map_err(text)?;
        let answers: Option<(String, String, i64)> = unit.exec(true).await.map_err(text)?;
        Ok(answers.map(|(_, _, left)| left))
    }
}

fn shown(sold: Answer<Option<i64>>) -> Answer<String> {
    Ok(sold?.map_or("null".to_string(), |left| left.to_string()))
}

async fn play(client: impl Client, scenario: &str) -> Answer<()> {
    match scenario {
        "round" => {
            println!("row {}", client.row().await?.join(" "));
            println!("pipeline {}", client.pipe().await?);
            let callers: Vec<_> = (0..8)
                .map(|_| {
                    let client = client.clone();
                    tokio::spawn(async move {
                        for _ in 0..25 {
                            client.count("pooled").await.unwrap();
                        }
                    })
                })
                .collect();
            for caller in callers {
                caller.await.map_err(text)?;
            }
            println!("pool {}", client.get("pooled").await?);
            let (first, second, third) =
                (client.sell("t0").await, client.sell("t1").await, client.sell("t2").await);
            println!("transaction {} {} {}", shown(first)?, shown(second)?, shown(third)?);
        }
        "count" => println!("{}", client.view().await?),
        _ => {
            for _ in 0..50 {
                if let Ok(Some(left)) = client.sell("once").await {
                    println!("{left}");
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Answer<()> {
    let words: Vec<String> = std::env::args().collect();
    if words[1] == "fred" {
        play(Fred::connect(&words[2], &words[3]).await?, &words[4]).await
    } else {
        play(RedisRs::connect(&words[2], &words[3]).await?, &words[4]).await
    }
}
