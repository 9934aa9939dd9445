import { brevo } from './brevo.ts'
import type { ExportSource } from './export-source.ts'
import { listmonk } from './listmonk.ts'
import { loops } from './loops.ts'
import { mailchimp } from './mailchimp.ts'
import { resend } from './resend.ts'

export const sourceNames = ['listmonk', 'mailchimp', 'brevo', 'resend', 'loops'] as const
export type SourceName = (typeof sourceNames)[number]

export const sources: Readonly<Record<SourceName, ExportSource>> = { listmonk, mailchimp, brevo, resend, loops }
