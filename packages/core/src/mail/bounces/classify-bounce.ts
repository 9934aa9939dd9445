/**
 * Whose fault a bounce is. The class decides what follows, so that no person is suppressed by the fault of a message, of a
 * sender, or of a receiving server on a bad day:
 *
 * | class   | codes (RFC 3463)                                               | what follows                          |
 * |---------|----------------------------------------------------------------|---------------------------------------|
 * | HARD    | 5.1.1, 5.1.2, 5.1.3, 5.1.6, 5.1.10, 5.2.1, 5.7.13, 5.7.17, .18 | the address is suppressed             |
 * | MESSAGE | 5.2.3, 5.3.4, 5.6.x                                            | shown; may pause the campaign         |
 * | POLICY  | 5.1.0, 5.1.7, 5.1.8, 5.1.351, any other 5.7.x                  | shown; may pause the campaign         |
 * | SOFT    | everything else, and no code at all                            | counted: see `soft-bounces.ts`        |
 */
import type { BounceClass } from './bounce.schema.ts'

/** A bounce as stored and as events show it. `code` is an enhanced status code, or the SMTP code if there is none. */
export interface Bounce {
  class: BounceClass
  code: string | null
}

/** What a server or a delivery report said. `text` may contain the codes. */
export interface BounceFacts {
  enhancedCode?: string | null | undefined
  smtpCode?: number | null | undefined
  text?: string | null | undefined
}

const classOf: Readonly<Record<string, BounceClass>> = {
  '5.1.0': 'POLICY',
  '5.1.1': 'HARD',
  '5.1.2': 'HARD',
  '5.1.3': 'HARD',
  '5.1.6': 'HARD',
  '5.1.7': 'POLICY',
  '5.1.8': 'POLICY',
  '5.1.10': 'HARD',
  '5.1.351': 'POLICY',
  '5.2.1': 'HARD',
  '5.2.3': 'MESSAGE',
  '5.3.4': 'MESSAGE',
  '5.7.13': 'HARD',
  '5.7.17': 'HARD',
  '5.7.18': 'HARD',
}

export function classifyBounce(facts: BounceFacts): Bounce {
  const enhanced = findEnhancedCode(facts)
  const smtpCode = facts.smtpCode ?? findSmtpCode(facts.text ?? '')
  const isTemporary = facts.smtpCode !== undefined && facts.smtpCode !== null && facts.smtpCode < 500
  return { class: isTemporary ? 'SOFT' : classifyCode(enhanced), code: enhanced ?? smtpCode?.toString() ?? null }
}

function classifyCode(enhanced: string | undefined): BounceClass {
  if (enhanced === undefined) return 'SOFT'
  if (enhanced.startsWith('5.6.')) return 'MESSAGE'
  return classOf[enhanced] ?? (enhanced.startsWith('5.7.') ? 'POLICY' : 'SOFT')
}

/** Reports often state `5.0.0` (RFC 3463: no details), while the response that they quote has the exact code. */
function findEnhancedCode({ enhancedCode, text }: BounceFacts): string | undefined {
  const stated = enhancedCode === null || enhancedCode === undefined ? undefined : parseCode(enhancedCode)
  if (stated !== undefined && !stated.endsWith('.0.0')) return stated
  return findQuotedCode(text ?? '') ?? stated
}

const parseCode = (text: string) => /^\s*([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(text)?.[1]

/** A code at the start of a line, after an SMTP code, or after a sign such as `#`: not a part of an address or a version. */
const quotedCode = /(?:^|[#([]|[:;=]\s*|\b[45]\d\d[ -])([45]\.\d{1,3}\.\d{1,3})(?!\.?\d)/m
const findQuotedCode = (text: string) => quotedCode.exec(text)?.[1]

/** The code at the start of a response, or of a line of it. */
function findSmtpCode(text: string): number | undefined {
  const [, code] = /(?:^|[\s:;])([45]\d\d)(?=[\s-])/.exec(text) ?? []
  return code === undefined ? undefined : Number(code)
}
