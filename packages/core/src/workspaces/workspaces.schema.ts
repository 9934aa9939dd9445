import { z } from 'zod'
import { trackingLevels } from '../db/schema/index.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, Email, emptyToNull, MultiLine, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { OptionalLocale } from '../kernel/values/locale.ts'
import { isWebAddress } from '../kernel/web-address.ts'
import { describeSender } from '../domains/senders.ts'
import { computeContrast, minTextContrast } from '../kernel/values/color-contrast.ts'

export const maxWorkspaceName = 200

const logoDescription =
  'The logo on hosted pages: the `https` URL of an image. `null`: the pages show the name of the workspace.'
const accentDescription =
  'The color of buttons and links on hosted pages, such as `#2f5bea`. `null`: the default color. Dark mode uses a lighter shade.'
const localeDescription =
  'The language of hosted pages and emails for which nothing else decides, as a language tag (BCP 47) such as `de`. `null` for English.'
const confirmDescription =
  'Whether a contact that gets another email address must confirm its subscriptions again: they become `PENDING`, and the new address gets an email for each list. Otherwise they continue at the new address.'

const trackingDescription =
  'What campaigns that track opens or clicks record of contacts who have neither granted nor denied it. `OFF`: nothing. `ANONYMOUS`: how often, without the contact. `PERSON`: the first open and click of each contact, for which you need another legal ground than consent.'

export const Workspace = z
  .object({
    id: RecordId('wsp'),
    name: z.string().describe('The name of the workspace.'),
    currency: z.string().describe('The currency of all values in the workspace, as an ISO 4217 code such as `EUR`.'),
    fromName: z.string().nullable().describe('The sender name of newsletters. `null` for none.'),
    fromEmail: z
      .string()
      .nullable()
      .describe('The sender address of newsletters. `null` for the address that the operator configured.'),
    postalAddress: z.string().nullable().describe('The postal address in the footer of newsletters. `null` for none.'),
    logoUrl: z.string().nullable().describe(logoDescription),
    accentColor: z.string().nullable().describe(accentDescription),
    locale: z.string().nullable().describe(localeDescription),
    confirmChangedAddress: z.boolean().describe(confirmDescription),
    trackingWithoutConsent: z.enum(trackingLevels).describe(trackingDescription),
    suspendedAt: Timestamp.nullable().describe(
      'When the operator suspended the workspace: it can be read, but sends and changes nothing. `null`: it is not suspended.',
    ),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({ id: 'Workspace', description: 'A workspace: contacts and everything else belong to exactly one.' })
export type Workspace = z.output<typeof Workspace>

const currencies = new Set(Intl.supportedValuesOf('currency'))

/** Buttons have white text, and links are on a white page: both need the contrast. */
const AccentColor = z
  .string()
  .regex(/^#[0-9a-f]{6}$/i, { error: 'must be a color such as #2f5bea', abort: true })
  .toLowerCase()
  .refine((color) => computeContrast(color, '#ffffff') >= minTextContrast, {
    error: ({ input }) =>
      `has a contrast of ${roundDown(computeContrast(String(input), '#ffffff'))}:1 with white, but text needs at least ${minTextContrast}:1 (WCAG 2.2): choose a darker color`,
  })

/** Rounded down: a ratio just below the minimum must not be shown as the minimum. */
const roundDown = (ratio: number) => Math.floor(ratio * 100) / 100

const isLogoUrl = (text: string) => isWebAddress(text, ['https'])

export const WorkspaceChange = z
  .strictObject({
    name: SingleLine(maxWorkspaceName, 1).describe('The name of the workspace.'),
    currency: z
      .string()
      .refine((code) => currencies.has(code), 'must be an ISO 4217 code such as EUR')
      .describe('An ISO 4217 code such as `EUR`. Existing values are not converted.'),
    fromName: emptyToNull(SingleLine(200)).describe('The sender name of newsletters. `null` or empty for none.'),
    fromEmail: Email.nullable().describe(describeSender('the address that the operator configured')),
    postalAddress: MultiLine(2_000)
      .nullable()
      .transform((address) => address || null)
      .describe('The postal address in the footer of newsletters. `null` or empty for none.'),
    logoUrl: SingleLine(2_048)
      .refine(isLogoUrl, 'must be an https URL such as https://example.com/logo.png')
      .nullable()
      .describe(logoDescription),
    accentColor: AccentColor.nullable().describe(
      `${accentDescription} Its contrast with white must be at least ${minTextContrast}:1.`,
    ),
    locale: OptionalLocale.describe(localeDescription),
    confirmChangedAddress: z.boolean().describe(`${confirmDescription} Default: \`false\`.`),
    trackingWithoutConsent: z
      .enum(trackingLevels, `must be ${trackingLevels.join(', ')}`)
      .describe(`${trackingDescription} Default: \`ANONYMOUS\`. Emails that were sent before are not changed.`),
  })
  .partial()
  .meta({
    id: 'WorkspaceUpdate',
    description: 'The fields of the workspace to change. Omitted fields stay unchanged.',
    examples: [{ fromName: 'Ada at Engines', postalAddress: '12 Analytical Street, London', accentColor: '#2f5bea' }],
  })
export type WorkspaceChange = z.output<typeof WorkspaceChange>

export const WorkspaceDeletion = z
  .strictObject({
    name: SingleLine(maxWorkspaceName).describe('The name of the workspace, which confirms that you mean this one.'),
  })
  .meta({
    id: 'WorkspaceDeleteRequest',
    description: 'Confirms that this workspace is to be deleted.',
    examples: [{ name: 'Analytical Engines' }],
  })
export type WorkspaceDeletion = z.output<typeof WorkspaceDeletion>
