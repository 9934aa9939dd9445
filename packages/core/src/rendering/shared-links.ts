import { joinPieces } from '../mail/mime.ts'
import type { CampaignValues, TemplateValues } from './template-sources.ts'
import type { MailInPieces } from './compile-templates.ts'
import { listLinks } from './track-html.ts'

/** Their lengths differ, so that not even the length of a value is the same with both. */
const markers = ['dWYt7Rq2', 'k0ZsB5mXeP4vNc'] as const

/**
 * Returns the links of a mail that are the same for every recipient of a group. The mail is rendered twice, with each
 * value of a contact replaced by a marker: a link that is the same in both contains no such value, however a template
 * changed it. A link that only some recipients get may be missing.
 */
export function findSharedLinks(
  render: (values: TemplateValues) => MailInPieces,
  recipients: readonly { values: TemplateValues }[],
): ReadonlySet<string> {
  const first = recipients[0]?.values
  // Only the mails of campaigns track.
  if (!first || !('campaign' in first)) return new Set()
  const contact = Object.fromEntries(recipients.flatMap(({ values }) => Object.entries(values.contact)))
  const [one, other] = markers.map((marker) => new Set(linksWith({ ...first, contact }, marker)))
  return new Set([...(one ?? [])].filter((url) => other?.has(url)))

  function linksWith({ campaign, list, workspace, ...personal }: CampaignValues, marker: string): string[] {
    try {
      const marked = replaceValues(personal, marker) as typeof personal
      const { html } = render({ campaign, list, workspace, ...marked })
      return html ? listLinks(joinPieces(html)) : []
    } catch {
      // Such as a template that is empty for this contact: then no link is tracked.
      return []
    }
  }
}

function replaceValues(value: unknown, marker: string): unknown {
  if (Array.isArray(value)) return [marker]
  if (typeof value !== 'object' || value === null) return marker
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaceValues(inner, marker)]))
}
