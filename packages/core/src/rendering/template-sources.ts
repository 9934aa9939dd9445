import type { grounds } from '../db/schema/index.ts'

export interface TemplateSources {
  subject: string
  html: string | null
  text: string | null
}

export const templateFields = ['subject', 'html', 'text'] as const
export type TemplateField = (typeof templateFields)[number]

export type PartialTemplateSources = { [Field in TemplateField]?: string | null | undefined }

/** Why an email is sent to one person. */
export type Ground = (typeof grounds)[number]

interface CommonValues {
  contact: Record<string, unknown>
  workspace: Record<string, unknown>
  /** The language of the mail, as a locale. */
  locale: string
}

/** The values of a mail of a campaign. A part that does not show the link to unsubscribe gets a footer with it. */
export interface CampaignValues extends CommonValues {
  campaign: Record<string, unknown>
  list: Record<string, unknown> & { name: string }
  /** Null in the web version, which is of no person: it gets no footer. */
  unsubscribeUrl: string | null
  preferencesUrl: string | null
  /** Undefined if the campaign has no web version, and in the web version. */
  webVersionUrl?: string
}

/** The values of an email to one person. Each part gets a footer that says why it came, and from whom. */
export interface EmailValues extends CommonValues {
  data: Record<string, unknown>
  footer: { ground: Ground; sender: string }
}

export type TemplateValues = CampaignValues | EmailValues

/** An error in a template, or in rendering it. */
export interface TemplateFault {
  field: TemplateField
  message: string
  /** The template took too long, or its thread was terminated for using too much memory. */
  isSlow?: boolean
  /** The subject or a part is empty for this recipient. It may have content for the next one. */
  isEmpty?: boolean
}

/** Thrown if the subject or a part of a mail is empty. */
export class EmptyPartError extends Error {
  constructor(part: string) {
    super(`the ${part} is empty for this contact`)
  }
}

/** The HTML of a campaign that is created without `html` and `text`. */
export const plainTemplate = `<h1>{{ campaign.subject }}</h1>
<p>Hello {{ contact.firstName | default: "there" }},</p>
<p>here is the latest from {{ workspace.name }}.</p>
`

const maxTags = 5_000
const maxFilters = 5_000

/** Finds a template with too many tags, outputs or filters. Counts delimiters, because parsing would take too long. */
export function findExcess(sources: PartialTemplateSources): TemplateFault | undefined {
  for (const field of templateFields) {
    const source = sources[field] ?? ''
    if (countOccurrences(source, '{{') + countOccurrences(source, '{%') > maxTags)
      return { field, message: `must have at most ${maxTags.toLocaleString('en')} tags and outputs` }
    if (countOccurrences(source, '|') > maxFilters)
      return { field, message: `must have at most ${maxFilters.toLocaleString('en')} filters` }
  }
  return undefined
}

function countOccurrences(text: string, search: string): number {
  let found = 0
  for (let at = text.indexOf(search); at >= 0; at = text.indexOf(search, at + search.length)) found += 1
  return found
}
