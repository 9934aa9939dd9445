/** Judges a mail as a receiving server does, by the DNS of a test. */
import { Resolver } from 'node:dns/promises'
import { authenticate } from 'mailauth'
import type { NameServer } from './name-server.ts'

export interface Verdict {
  spf: string | undefined
  dkim: string | undefined
  dmarc: string | undefined
  /** The domain and selector of the signature. */
  signedBy: { domain: string | undefined; selector: string | undefined } | undefined
  /** The header fields that the signature lists. */
  signedFields: string[]
}

/** `ip` is the address of the server that delivers the mail, and `sender` its envelope sender. */
export async function judgeMail(
  raw: Buffer | string,
  { dns, ip = '192.0.2.1', sender }: { dns: NameServer; ip?: string; sender: string },
): Promise<Verdict> {
  const resolver = new Resolver()
  resolver.setServers([dns.address])
  const { spf, dkim, dmarc } = await authenticate(raw, {
    ip,
    helo: 'mail.rapport.example',
    mta: 'mx.receiver.example',
    sender,
    disableArc: true,
    disableBimi: true,
    resolver: (name: string, type: string) => resolver.resolve(name, type) as Promise<string[][]>,
  })
  const [signature] = dkim?.results ?? []
  return {
    spf: spf ? spf.status?.result : undefined,
    dkim: signature?.status.result,
    dmarc: dmarc ? dmarc.status?.result : undefined,
    signedBy: signature && { domain: signature.signingDomain, selector: signature.selector },
    signedFields: signature?.signingHeaders?.keys?.toLowerCase().split(/\s*:\s*/) ?? [],
  }
}
