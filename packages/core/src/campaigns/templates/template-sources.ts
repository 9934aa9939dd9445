/** What a campaign's templates are, to whoever does not parse them. */
export interface TemplateSources {
  subject: string
  html: string | null
  text: string | null
}

export const templateFields = ['subject', 'html', 'text'] as const
export type TemplateField = (typeof templateFields)[number]

/** Templates to be saved: some of them. */
export type PartialTemplateSources = { [Field in TemplateField]?: string | null | undefined }

export interface TemplateValues {
  contact: Record<string, unknown>
  campaign: Record<string, unknown>
  list: Record<string, unknown>
  workspace: Record<string, unknown>
  unsubscribeUrl: string
}

/** What is wrong with a template, or with what became of it. */
export interface TemplateFault {
  field: TemplateField
  message: string
  /** It takes too long, or so much memory that its thread was ended. */
  isSlow?: boolean
}

/** What a campaign starts from that was given neither HTML nor text. */
export const plainTemplate = `<h1>{{ campaign.subject }}</h1>
<p>Hello {{ contact.firstName | default: "there" }},</p>
<p>here is the latest from {{ workspace.name }}.</p>
`

const maxTags = 5_000
const maxFilters = 5_000

/** Whether the templates have more tags, outputs or filters than a parser should see; told by a look at the signs alone. */
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
