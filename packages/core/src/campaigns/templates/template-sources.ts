/** What a campaign's templates are, to whoever does not parse them. */
export interface TemplateSources {
  subject: string
  html: string | null
  text: string | null
}

export const templateFields = ['subject', 'html', 'text'] as const
export type TemplateField = (typeof templateFields)[number]

/** Templates to be saved: some of them. */
export type GivenSources = { [Field in TemplateField]?: string | null | undefined }

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

const mostTags = 5_000
const mostFilters = 5_000

/** Whether the templates have more tags, outputs or filters than a parser should see; told by a look at the signs alone. */
export function findExcess(sources: GivenSources): TemplateFault | undefined {
  for (const field of templateFields) {
    const source = sources[field] ?? ''
    if (count(source, '{{') + count(source, '{%') > mostTags)
      return { field, message: `must have at most ${mostTags.toLocaleString('en')} tags and outputs` }
    if (count(source, '|') > mostFilters)
      return { field, message: `must have at most ${mostFilters.toLocaleString('en')} filters` }
  }
  return undefined
}

function count(text: string, sign: string): number {
  let found = 0
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + sign.length)) found += 1
  return found
}
