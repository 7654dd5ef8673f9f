//! Prompts as skills (SEP-2640) and as resources: `skills/list`, `skills/get`, `resources/list`, `resources/read`.

use rmcp::ErrorData;
use rmcp::model::{
    GetSkillResult, ListResourcesResult, ListSkillsResult, ReadResourceResult, Resource, ResourceContents,
    Skill, SkillFrontmatter, SkillResource, SkillResources,
};

use crate::error;
use adjutant_prompts::Catalogue;
use adjutant_prompts::skills;

/// Skills on one page.
const PAGE_SIZE: usize = 500;
const MARKDOWN: &str = "text/markdown";

/// Returns the page after `cursor`, which is the last name of the previous page.
pub fn list(catalogue: &Catalogue, cursor: Option<&str>) -> Result<ListSkillsResult, ErrorData> {
    let (page, next) = page(catalogue, cursor)?;
    let mut result = ListSkillsResult::with_all_items(page.iter().map(skill).collect());
    result.next_cursor = next;
    Ok(result)
}

/// Returns one skill by the URI of its `SKILL.md`.
pub fn get(catalogue: &Catalogue, uri: &str) -> Result<GetSkillResult, ErrorData> {
    let unknown = || ErrorData::invalid_params(format!("unknown skill `{}`", error::clip(uri)), None);
    find(catalogue, uri).map(|found| GetSkillResult::new(skill(found))).ok_or_else(unknown)
}

/// Returns the skills as resources, for clients without skills.
pub(crate) fn resources(
    catalogue: &Catalogue,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let (page, next) = page(catalogue, cursor)?;
    let resource = |skill: &skills::Skill| {
        Resource::new(skill.uri.clone(), skill.name.clone())
            .with_description(skill.description.clone())
            .with_mime_type(MARKDOWN)
            .with_size(skill.size as u64)
    };
    let mut result = ListResourcesResult::with_all_items(page.iter().map(resource).collect());
    result.next_cursor = next;
    Ok(result)
}

/// Returns the text of one `SKILL.md`.
pub fn read(catalogue: &Catalogue, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    // rmcp turns the code into the one of 2026-07-28 for clients of that revision.
    let skill = find(catalogue, uri).ok_or_else(|| {
        ErrorData::resource_not_found(format!("unknown resource `{}`", error::clip(uri)), None)
    })?;
    let text = ResourceContents::text(skill.text.clone(), skill.uri.clone()).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![text]))
}

/// Returns whether a URI has the form of a `SKILL.md` here; the skill need not exist.
pub(crate) fn is_skill_uri(uri: &str) -> bool {
    uri.strip_prefix(skills::BASE).is_some_and(|rest| rest.ends_with("/SKILL.md"))
}

/// Returns the digest of one `SKILL.md`; `None` if it does not exist.
pub fn digest(catalogue: &Catalogue, uri: &str) -> Option<String> {
    find(catalogue, uri).map(|skill| skill.digest.clone())
}

fn all(catalogue: &Catalogue) -> &[skills::Skill] {
    catalogue.skills.get_or_init(|| skills::skills(catalogue))
}

fn page<'a>(
    catalogue: &'a Catalogue,
    cursor: Option<&str>,
) -> Result<(&'a [skills::Skill], Option<String>), ErrorData> {
    let all = all(catalogue);
    let start = match cursor {
        None => 0,
        Some(last) => {
            let position = all.iter().position(|skill| skill.name == last);
            // The list may have changed since the last page; then the client starts again.
            position.ok_or_else(|| {
                ErrorData::invalid_params(
                    "the cursor is not valid, because the list has changed; list from the start",
                    None,
                )
            })? + 1
        }
    };
    let page = &all[start..all.len().min(start + PAGE_SIZE)];
    let more = start + page.len() < all.len();
    Ok((page, page.last().filter(|_| more).map(|skill| skill.name.clone())))
}

fn find<'a>(catalogue: &'a Catalogue, uri: &str) -> Option<&'a skills::Skill> {
    all(catalogue).iter().find(|skill| skill.uri == uri)
}

fn skill(skill: &skills::Skill) -> Skill {
    let manifest = SkillResource::new(skill.uri.clone(), skill.digest.clone(), skill.size as u64);
    Skill::new(
        skill.uri.clone(),
        SkillFrontmatter::new(skill.name.clone(), skill.description.clone()),
        SkillResources::Files(vec![manifest]),
    )
}
