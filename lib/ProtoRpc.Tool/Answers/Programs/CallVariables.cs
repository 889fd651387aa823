using System.Globalization;
using System.Text;
using System.Text.Json;

namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>What a program learns of a call, as environment variables.</summary>
internal static class CallVariables
{
    private const string Prefix = "PROTORPC_";

    /// <summary>The variables of a call. Each name begins with <c>PROTORPC_</c>, so that no header can set a
    /// variable that means something else.</summary>
    public static IEnumerable<KeyValuePair<string, string>> Of(
        RpcServerCallContext context, ProgramEnvironment environment)
    {
        yield return Variable("METHOD", context.Method.FullName);
        yield return Variable("SERVICE", context.Method.Service.FullName);
        yield return Variable("ENDPOINT", context.Endpoint.ToString());
        yield return Variable("PEER", context.ClientAddress);
        yield return Variable("USER", context.User.Name);
        if (context.Deadline is { } deadline)
        {
            yield return Variable(
                "DEADLINE", deadline.UtcDateTime.ToString("O", CultureInfo.InvariantCulture));
        }

        yield return Variable("HEADERS", Encoding.UTF8.GetString(HeadersOf(context, environment)));
        foreach (IGrouping<string, KeyValuePair<string, object>> header in context.RequestHeaders
            .Where(header => header.Value is string && IsSafe(header.Key))
            .Where(header => environment.HasHeader(header.Key))
            .GroupBy(header => header.Key))
        {
            yield return Variable(
                $"HEADER_{header.Key.ToUpperInvariant().Replace('-', '_')}",
                string.Join(", ", header.Select(one => one.Value)));
        }
    }

    /// <summary>The headers as a JSON object: a text, or a list of several, and bytes as base64.</summary>
    public static byte[] HeadersOf(RpcServerCallContext context, ProgramEnvironment environment)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream))
        {
            WriteHeaders(writer, context, environment);
        }

        return stream.ToArray();
    }

    /// <summary>Writes the same as a value.</summary>
    public static void WriteHeaders(
        Utf8JsonWriter writer, RpcServerCallContext context, ProgramEnvironment environment)
    {
        writer.WriteStartObject();
        foreach (string name in context.RequestHeaders.Names.Where(environment.HasHeader))
        {
            IReadOnlyList<object> values = context.RequestHeaders.GetAll(name);
            writer.WritePropertyName(name);
            if (values.Count == 1)
            {
                Write(writer, values[0]);
                continue;
            }

            writer.WriteStartArray();
            foreach (object value in values)
            {
                Write(writer, value);
            }

            writer.WriteEndArray();
        }

        writer.WriteEndObject();
    }

    private static void Write(Utf8JsonWriter writer, object value)
    {
        if (value is byte[] bytes)
        {
            writer.WriteBase64StringValue(bytes);
        }
        else
        {
            writer.WriteStringValue((string)value);
        }
    }

    // With other characters two headers could have one variable: x_user would pass for x-user.
    private static bool IsSafe(string name) =>
        name.All(c => char.IsAsciiLetterOrDigit(c) || c == '-');

    // A variable ends at its first NUL.
    private static KeyValuePair<string, string> Variable(string name, string? value) =>
        new(Prefix + name, (value ?? "").Replace("\0", "", StringComparison.Ordinal));
}
