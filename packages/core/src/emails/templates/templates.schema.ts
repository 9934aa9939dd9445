import { z } from 'zod'
import { templateStatuses } from '../../db/schema/index.ts'
import { describeSender } from '../../domains/senders.ts'
import { defineEvent } from '../../events/event-definition.ts'
import { Id, RecordId } from '../../kernel/ids.ts'
import {
  CreatedAt,
  Email,
  emptyToNull,
  OptionalObject,
  SearchText,
  SingleLine,
  UpdatedAt,
  Verbatim,
} from '../../kernel/validation.ts'
import { PageQuery, Sort } from '../../request/paging.ts'
import { Ground, Variable, VariableInput } from './variables.ts'

const example = {
  id: 'tpl_01kag7m3v9e8fs2t4w6x8y0z1b',
  name: 'Welcome',
  subject: 'Welcome to {{ workspace.name }}, {{ contact.firstName | default: "friend" }}',
  html: '<p>Please <a href="{{ data.verifyUrl }}">verify your address</a>.</p>',
  text: null,
  variables: [{ name: 'verifyUrl', type: 'URL', required: true, example: 'https://shop.example/verify/x' }],
  ground: 'REQUEST',
  fromName: null,
  fromEmail: null,
  replyTo: null,
  version: 1,
  status: 'ACTIVE',
  pauseReason: null,
  createdAt: '2026-11-21T06:35:49.123Z',
  updatedAt: '2026-11-21T06:35:49.123Z',
}

export const Template = z
  .object({
    id: RecordId('tpl'),
    name: z.string().describe('The name of the template. Recipients do not see it.'),
    subject: z.string().describe('The subject line, a Liquid template.'),
    html: z.string().nullable().describe('The HTML body, a Liquid template. `null` if there is only text.'),
    text: z.string().nullable().describe('The plain-text body, a Liquid template. `null` to derive it from `html`.'),
    variables: z.array(Variable).describe('The values that each email brings along in `data`.'),
    ground: Ground,
    fromName: z.string().nullable().describe('The sender name. `null` for that of the workspace.'),
    fromEmail: z.string().nullable().describe('The sender address. `null` for that of the workspace.'),
    replyTo: z.string().nullable().describe('The address for replies. `null` for the sender address.'),
    version: z
      .number()
      .int()
      .describe('Counts the changes of the content. An email is sent with the version that accepted it.'),
    status: z
      .enum(templateStatuses)
      .describe(
        '`PAUSED`: no email is accepted, and those that were accepted wait until it is `ACTIVE` again. 24 hours after they were accepted, they become `FAILED`.',
      ),
    pauseReason: z
      .string()
      .nullable()
      .describe('Why the system paused the template. `null` if it is active, or if a user paused it.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'Template',
    description: 'What an email to one person says. `subject`, `html` and `text` are Liquid templates.',
    examples: [example],
  })
export type Template = z.output<typeof Template>

const { html: _, text: __, ...summaryExample } = example

/** Without the bodies, which may have 256 KiB each: a page of templates, and an event, must stay small. */
export const TemplateSummary = Template.omit({ html: true, text: true }).meta({
  id: 'TemplateSummary',
  description: 'A template without its `html` and `text`, as in listings and events.',
  examples: [summaryExample],
})
export type TemplateSummary = z.output<typeof TemplateSummary>

const body = Verbatim(262_144)

const content = {
  name: SingleLine(200, 1).describe('The name of the template. Recipients do not see it.'),
  subject: SingleLine(300, 1).describe('The subject line, a Liquid template.'),
  html: body.nullable().optional().describe('The HTML body, a Liquid template. `null` for text only.'),
  text: body
    .nullable()
    .optional()
    .describe('The plain-text body, a Liquid template. `null` to derive it from `html`. One of both is required.'),
  variables: z
    .array(VariableInput)
    .max(50)
    .optional()
    .describe('The values that each email brings along in `data`: at most 50, and 32 KiB. Default: none.'),
  ground: Ground,
  fromName: emptyToNull(SingleLine(200)).optional().describe('The sender name. `null` for that of the workspace.'),
  fromEmail: Email.nullable().optional().describe(describeSender('that of the workspace')),
  replyTo: Email.nullable().optional().describe('The address for replies. `null` for the sender address.'),
}

export const TemplateInput = z.strictObject(content).meta({
  id: 'TemplateCreate',
  description: 'A new template.',
  examples: [
    {
      name: example.name,
      subject: example.subject,
      html: example.html,
      variables: example.variables,
      ground: 'REQUEST',
    },
  ],
})
export type TemplateInput = z.output<typeof TemplateInput>

export const TemplateChange = z
  .strictObject({
    ...content,
    status: z
      .enum(templateStatuses)
      .describe('`PAUSED` to accept and send no email for now, `ACTIVE` to go on, also after the system paused it.'),
  })
  .partial()
  .meta({
    id: 'TemplateUpdate',
    description: 'The fields of the template to change. Omitted fields stay unchanged.',
    examples: [{ subject: 'Another subject' }],
  })
export type TemplateChange = z.output<typeof TemplateChange>

export const TemplateQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: z.enum(templateStatuses).optional().describe('Only templates with this status.'),
  search: SearchText.describe('Part of the name, ignoring case and accents.'),
})
export type TemplateQuery = z.output<typeof TemplateQuery>

export const EmailDataInput = z
  .record(z.string(), z.unknown())
  .describe('The values of the variables that the template declares, by name. At most 16 KiB.')

export const TemplatePreviewInput = OptionalObject({
  contactId: Id('con').optional().describe('The contact who would receive the email. Default: an example.'),
  data: EmailDataInput.optional().describe('The values of the variables. Default: their examples.'),
}).meta({
  id: 'TemplatePreviewRequest',
  description: 'The contact and the values to preview.',
  examples: [{ data: { verifyUrl: 'https://shop.example/verify/x' } }],
})
export type TemplatePreviewInput = z.output<typeof TemplatePreviewInput>

export const TemplatePreview = z
  .object({
    subject: z.string().describe('The rendered subject line.'),
    html: z.string().nullable().describe('The rendered HTML body. `null` if the template has only text.'),
    text: z.string().describe('The rendered plain-text body.'),
  })
  .meta({
    id: 'TemplatePreview',
    description: 'An email as one contact would receive it.',
    examples: [{ subject: 'Welcome, Ada', html: '<p>Hello Ada,</p>', text: 'Hello Ada,' }],
  })

export type TemplatePreview = z.output<typeof TemplatePreview>

export const templatePaused = defineEvent('template.paused', TemplateSummary, {
  status: 'PAUSED',
  pauseReason: '3 of the last 412 emails were reported as spam',
})
