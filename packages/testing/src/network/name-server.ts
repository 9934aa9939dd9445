/** A DNS server for tests, over UDP. */
import { createSocket } from 'node:dgram'

export type NameServer = Awaited<ReturnType<typeof startNameServer>>

const recordTypes = { A: 1, CNAME: 5, MX: 15, TXT: 16 } as const
const responseCodes = { found: 0x8180, serverFailure: 0x8182, noSuchName: 0x8183 }

/** A TXT record, or the strings that it consists of. */
type TextRecord = string | readonly string[]

/**
 * Serves A, CNAME, MX and TXT records. Names under `.invalid` do not exist; queries for other unknown names get no
 * response, or with `denyUnknown` the response that the name does not exist.
 */
export async function startNameServer({ denyUnknown = false } = {}) {
  const socket = createSocket('udp4')
  const [addressLists, counts] = [new Map<string, (readonly string[])[]>(), new Map<string, number>()]
  const [texts, exchanges] = [new Map<string, readonly TextRecord[]>(), new Map<string, readonly string[]>()]
  const [aliases, failing] = [new Map<string, string>(), new Set<string>()]

  function addressesOf(name: string): Buffer[] {
    const known = addressLists.get(name) ?? []
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    const addresses = known[Math.min(count, known.length - 1)] ?? []
    return addresses.map((ip) => Buffer.from(ip.split('.').map(Number)))
  }
  const isKnown = (name: string) => [addressLists, texts, aliases, exchanges].some((records) => records.has(name))

  /** The records of a name, after the aliases that lead to it. */
  function recordsOf(name: string, type: number): Buffer[] {
    const target = aliases.get(name)
    if (target !== undefined) {
      const alias = toRecord(name, recordTypes.CNAME, encodeName(target))
      return type === recordTypes.CNAME ? [alias] : [alias, ...recordsOf(target, type)]
    }
    return valuesOf(name, type).map((value) => toRecord(name, type, value))
  }
  function valuesOf(name: string, type: number): Buffer[] {
    if (type === recordTypes.A) return addressesOf(name)
    if (type === recordTypes.TXT) return (texts.get(name) ?? []).map(encodeText)
    if (type === recordTypes.MX) return (exchanges.get(name) ?? []).map(encodeExchange)
    return []
  }
  socket.on('message', (query, { address, port }) => {
    const { name, end } = readName(query)
    if (!isKnown(name) && !failing.has(name) && !denyUnknown && !name.endsWith('.invalid')) return
    const records = failing.has(name) ? [] : recordsOf(name, query.readUInt16BE(end))
    const code = failing.has(name) ? 'serverFailure' : isKnown(name) ? 'found' : 'noSuchName'
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(responseCodes[code], 2)
    head.writeUInt16BE(records.length, 6)
    // The response repeats none of the query's additional records, such as the EDNS buffer size.
    head.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...records]), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** Sets the addresses of a name, one list per query; the last list is repeated. */
    setAddresses: (name: string, lists: (readonly string[])[]) => void addressLists.set(name, lists),
    /** Sets the TXT records of a name. Without any, the name does not exist. */
    setTextRecords: (name: string, ...records: TextRecord[]) =>
      void (records.length > 0 ? texts.set(name, records) : texts.delete(name)),
    /** Makes a name an alias of another. Without a target, it is none. */
    setAlias: (name: string, target?: string) =>
      void (target === undefined ? aliases.delete(name) : aliases.set(name, target)),
    setExchanges: (name: string, ...hosts: string[]) => void exchanges.set(name, hosts),
    /** Responds to queries for a name with SERVFAIL, or no longer. */
    setFailing: (name: string, isFailing = true) => void (isFailing ? failing.add(name) : failing.delete(name)),
    countQueries: (name: string) => counts.get(name) ?? 0,
    resetCounts: () => counts.clear(),
    close: () => socket.close(),
  }
}

/** A record with a TTL of 0. */
function toRecord(name: string, type: number, value: Buffer): Buffer {
  const fields = Buffer.from([0, type, 0, 1, 0, 0, 0, 0, value.length >> 8, value.length & 255])
  return Buffer.concat([encodeName(name), fields, value])
}

/** Encodes a text as pieces of at most 255 bytes, each prefixed with its length. */
function encodeText(record: TextRecord): Buffer {
  const pieces = typeof record === 'string' ? (record.match(/.{1,255}/gs) ?? ['']) : record
  return Buffer.concat(
    pieces.map((piece) => Buffer.from(piece)).flatMap((piece) => [Buffer.from([piece.length]), piece]),
  )
}

const encodeExchange = (host: string) => Buffer.concat([Buffer.from([0, 10]), encodeName(host)])

function encodeName(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)])
  return Buffer.concat([...labels, Buffer.from([0])])
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}
