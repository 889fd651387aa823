using System.Text.Json;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.AccessLogs;

/// <summary>Writes calls as JSON lines.</summary>
internal sealed class AccessLogFile(string path, Action<string>? warn) : IAccessLogSink
{
    private readonly JsonLinesFile _file = new(path, warn);

    public void Add(RpcAccessLogEntry entry) =>
        _file.TryWrite(entry, static (json, call) => Write(json, call));

    public void Dispose() => _file.Dispose();

    private static void Write(Utf8JsonWriter json, RpcAccessLogEntry call)
    {
        json.WriteStartObject();
        json.WriteString("time", call.Time.UtcDateTime);
        json.WriteString("peer", call.Peer);
        json.WriteString("user", call.User);
        json.WriteString("transport", call.Transport.ToString());
        json.WriteString("endpoint", call.Endpoint.ToString());
        json.WriteString("method", call.Method);
        json.WriteString("status", call.Status.ToString());
        json.WriteNumber("milliseconds", Math.Round(call.Milliseconds, 3));
        json.WriteNumber("bytesIn", call.BytesIn);
        json.WriteNumber("bytesOut", call.BytesOut);
        if (call.TraceId is { } trace)
        {
            json.WriteString("traceId", trace);
        }

        json.WriteEndObject();
    }
}
