//! Whether anything gets through at all.

use std::net::UdpSocket;

use dovetail_units::Duration;

use super::Ip;
use crate::clock::now;
use crate::error::LabError;
use crate::lab::Lab;
use crate::namespace::Place;

/// The port for what nobody wants (RFC 863).
const DISCARD: u16 = 9;

/// From one probe to the next.
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(5);

impl Lab {
    /// Send small UDP packets from the client to the server until one arrives, for at most `limit`; whether one has.
    /// For waiting until the box is ready.
    ///
    /// # Errors
    /// Sockets are refused.
    pub fn gets_through(&self, limit: Duration) -> Result<bool, LabError> {
        self.gets_through_by(Ip::V4, limit)
    }

    /// As [`gets_through`](Self::gets_through), by this version of IP.
    ///
    /// # Errors
    /// As there.
    pub fn gets_through_by(&self, ip: Ip, limit: Duration) -> Result<bool, LabError> {
        let failed = || LabError::system("send a probe");
        let to = ip.server(DISCARD);
        let any = if ip == Ip::V4 { "0.0.0.0:0" } else { "[::]:0" };
        let receiver = self.enter(Place::Server, || {
            let socket = UdpSocket::bind(to).map_err(failed())?;
            socket.set_read_timeout(Some(INTERVAL)).map_err(failed())?;
            Ok(socket)
        })?;
        let sender = self.enter(Place::Client, || UdpSocket::bind(any).map_err(failed()))?;
        let begun = now();
        while now() - begun < limit {
            sender.send_to(&[0; 18], to).map_err(failed())?;
            // It has come, or the time is up.
            if receiver.recv(&mut [0; 18]).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
