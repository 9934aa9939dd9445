/** Traces without their library, so that it is loaded only where somebody collects them. */
export interface Tracer {
  /** `parent` is a W3C traceparent, whoever sent it; what is not one begins a new trace. */
  start(name: string, given: { kind: SpanKind; parent?: string | null | undefined; attributes: Attributes }): Span
  /** Hands over what was not yet; gives up after two seconds. */
  close(): Promise<void>
}
export type SpanKind = 'server' | 'consumer' | 'client'

/** Never what may be a secret: no query, no header, no body, of an address the host alone. */
export type Attributes = Record<string, string | number>

export interface Span {
  /** What goes on from here has this as its parent. */
  readonly traceparent: string
  end(given: { hasFailed: boolean; attributes?: Attributes }): void
}

/** Undefined where no collector is configured. */
export async function openTracer(
  serviceName: string,
  config: { OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined; OTEL_TRACES_SAMPLER_ARG: number },
): Promise<Tracer | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio } = config
  if (endpoint === undefined) return undefined
  const { openOtlpTracer } = await import('./otlp-tracer.ts')
  return openOtlpTracer(serviceName, endpoint, ratio)
}
