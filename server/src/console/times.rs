//! A transaction's time.

use super::page::{Page, View};
use maud::html;

pub fn page(_: &View<'_>) -> Page {
    Page::live(html! {})
}
