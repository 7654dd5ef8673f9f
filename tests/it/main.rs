//! The one integration binary: every test drives the real `adjutant` at its boundary, bytes in, bytes out.

mod support;

mod architecture;
mod hub;
