//! A minimal HTTP/1.1 server side: what a page needs, with every part bounded.

use std::io::{self, BufRead, Read, Write};

/// Maximum size of the request line and headers.
const HEAD_BYTES_MAX: u64 = 16 << 10;

/// Maximum number of headers.
const HEADERS_MAX: usize = 64;

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path without the query.
    pub(crate) path: String,
    /// The query, after the question mark.
    pub(crate) query: String,
    pub(crate) body: Vec<u8>,
}

/// Why a request could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("the connection broke")]
    Io(#[from] io::Error),
    /// The request is answered with this status, and the connection is closed.
    #[error("{}", .0.line())]
    Refused(Status),
}

/// Status codes, named as in RFC 9110.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    NoContent,
    BadRequest,
    NotFound,
    NotAllowed,
    Conflict,
    TooLarge,
    HeadTooLarge,
}

impl Status {
    pub(crate) fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::NoContent => "204 No Content",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::NotAllowed => "405 Method Not Allowed",
            Self::Conflict => "409 Conflict",
            Self::TooLarge => "413 Content Too Large",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// Reads the next request of a connection; `None` if the peer has closed it properly. A body may
/// have up to `body_bytes_max` bytes.
pub(crate) fn read(
    input: &mut impl BufRead,
    body_bytes_max: u64,
) -> Result<Option<Request>, RequestError> {
    let mut head = Vec::new();
    let mut bounded = input.take(HEAD_BYTES_MAX);
    loop {
        let line = bounded.read_until(b'\n', &mut head)?;
        if line == 0 {
            return match (head.is_empty(), bounded.limit()) {
                (true, _) => Ok(None),
                (false, 0) => Err(RequestError::Refused(Status::HeadTooLarge)),
                (false, _) => Err(RequestError::Io(io::ErrorKind::UnexpectedEof.into())),
            };
        }
        if head.ends_with(b"\r\n\r\n") {
            break;
        }
    }
    let (mut request, length) = parsed(&head)?;
    if length > body_bytes_max {
        return Err(RequestError::Refused(Status::TooLarge));
    }
    // The buffer is not zero-filled in advance, so that announcing a large body without sending it
    // costs nothing.
    let read = input.take(length).read_to_end(&mut request.body)?;
    if (read as u64) < length {
        return Err(RequestError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(Some(request))
}

/// Parses a request's head; returns the request without its body, and the length of the body.
fn parsed(head: &[u8]) -> Result<(Request, u64), RequestError> {
    let refused = |status| RequestError::Refused(status);
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parser = httparse::Request::new(&mut headers);
    match parser.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Err(refused(Status::HeadTooLarge)),
        Ok(httparse::Status::Partial) | Err(_) => return Err(refused(Status::BadRequest)),
    }
    let method = match parser.method {
        Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        _ => return Err(refused(Status::NotAllowed)),
    };
    let target = parser.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut length = None;
    for header in parser.headers.iter() {
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            // A page that posts a text or a buffer sends its length.
            return Err(refused(Status::BadRequest));
        }
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(header.value).unwrap_or_default();
            let number = text.bytes().all(|byte| byte.is_ascii_digit());
            let parsed = text.parse().ok().filter(|_| number);
            if parsed.is_none() || length.is_some_and(|known| Some(known) != parsed) {
                return Err(refused(Status::BadRequest));
            }
            length = parsed;
        }
    }
    let request = Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        body: Vec::new(),
    };
    Ok((request, length.unwrap_or(0)))
}

/// The response to a request.
pub(crate) struct Response {
    pub(crate) status: Status,
    pub(crate) kind: &'static str,
    /// The number of the piece of work in the body.
    pub(crate) work: Option<u64>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn empty(status: Status) -> Self {
        Self {
            status,
            kind: "text/plain",
            work: None,
            body: Vec::new(),
        }
    }
}

/// Cross-origin isolation gives the page a fine-grained clock and shared memory. Nothing is cached,
/// since a cache would contain what an encrypted database must not show.
const HEADERS: &str = "Cross-Origin-Opener-Policy: same-origin\r\n\
     Cross-Origin-Embedder-Policy: require-corp\r\n\
     Cross-Origin-Resource-Policy: same-origin\r\n\
     X-Content-Type-Options: nosniff\r\n\
     Cache-Control: no-store\r\n";

/// Writes the response with a single call, since each write would be a separate packet.
pub(crate) fn write(output: &mut impl Write, response: &Response) -> io::Result<()> {
    let mut bytes = format!("HTTP/1.1 {}\r\n{HEADERS}", response.status.line()).into_bytes();
    if let Some(work) = response.work {
        bytes.extend_from_slice(format!("X-Work: {work}\r\n").as_bytes());
    }
    // RFC 9110, section 8.6: a response without content has no length.
    if response.status != Status::NoContent {
        let (kind, length) = (response.kind, response.body.len());
        let text = format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n");
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&response.body);
    output.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> Status {
        match read(&mut &text[..], 10) {
            Err(RequestError::Refused(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_read_one_after_the_other() {
        let text = b"GET /a/b?1 HTTP/1.1\r\nHost: x\r\n\r\n\
                     POST /c HTTP/1.1\r\ncontent-LENGTH: 3\r\n\r\nabc";
        let mut input = &text[..];
        let first = read(&mut input, 3).unwrap().unwrap();
        assert_eq!((first.method, first.path.as_str()), (Method::Get, "/a/b"));
        assert_eq!(first.query, "1");
        let second = read(&mut input, 3).unwrap().unwrap();
        assert_eq!(
            (second.method, &second.body[..]),
            (Method::Post, &b"abc"[..])
        );
        assert_eq!(read(&mut input, 3).unwrap(), None);
    }

    #[test]
    fn too_large_requests_are_refused_before_they_are_read() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(20_000));
        assert_eq!(refused(long.as_bytes()), Status::HeadTooLarge);
        // Headers that never end.
        let endless = "x".repeat(20_000);
        assert_eq!(refused(endless.as_bytes()), Status::HeadTooLarge);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        assert_eq!(refused(many.as_bytes()), Status::HeadTooLarge);
        let body = b"POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n";
        assert_eq!(refused(body), Status::TooLarge);
        let body = b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n";
        assert_eq!(refused(body), Status::BadRequest);
    }

    #[test]
    fn ambiguous_requests_are_refused() {
        for text in [
            &b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"[..],
            b"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\na",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"no request at all\r\n\r\n",
            b"\r\n\r\n\r\n\r\n",
        ] {
            assert_eq!(refused(text), Status::BadRequest, "{text:?}");
        }
        assert_eq!(refused(b"PUT / HTTP/1.1\r\n\r\n"), Status::NotAllowed);
    }

    #[test]
    fn a_request_that_breaks_off_is_none() {
        for text in [
            &b"GET / HT"[..],
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc",
        ] {
            let broken = read(&mut &text[..], 10);
            assert!(matches!(broken, Err(RequestError::Io(_))), "{broken:?}");
        }
    }

    #[test]
    fn a_response_isolates_the_page_and_is_kept_nowhere() {
        let mut bytes = Vec::new();
        let mut response = Response::empty(Status::Ok);
        response.work = Some(7);
        response.body = b"body".to_vec();
        write(&mut bytes, &response).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        for header in [
            "HTTP/1.1 200 OK\r\n",
            "Cross-Origin-Opener-Policy: same-origin\r\n",
            "Cross-Origin-Embedder-Policy: require-corp\r\n",
            "Cross-Origin-Resource-Policy: same-origin\r\n",
            "Cache-Control: no-store\r\n",
            "X-Work: 7\r\n",
            "Content-Length: 4\r\n",
        ] {
            assert!(text.contains(header), "{text}");
        }
        assert!(text.ends_with("\r\n\r\nbody"), "{text}");
    }
}
