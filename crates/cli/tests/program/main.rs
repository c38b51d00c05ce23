//! The built program, seen from outside: what it prints, where, and with which exit code.

mod arguments;
mod calibrate;
mod captures;
mod control;
mod determinism;
mod gateway;
mod health;
mod interruption;
mod lab;
mod live;
mod manners;
mod meant;
mod networks;
mod output;
mod reality;
mod report;
mod scenarios;
mod service;
mod support;
mod sweep;
