using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace ProtoRpc.Tool;

/// <summary>Writes a failed call: its status, its text, and the decoded details of the server.</summary>
internal static class ErrorOutput
{
    private const string Red = "\u001B[31m";
    private const string Faint = "\u001B[2m";
    private const string Reset = "\u001B[0m";

    // A server may send as many details as fit into a message.
    private const int MaxDetails = 20;
    private const int MaxDetailLength = 4000;

    private const string AnyName = "google.protobuf.Any";

    private static readonly JsonSerializerOptions Relaxed =
        new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>Indented JSON for people, in which no characters are escaped.</summary>
    internal static readonly JsonSerializerOptions Indented = new(Relaxed) { WriteIndented = true };

    public static void Write(ToolConsole console, CallFailedException failure)
    {
        RpcException error = failure.Cause;
        string attempts = error.Attempts > 1 ? $" ({error.Attempts} attempts)" : "";
        console.WriteError(Paint(console, $"{error.Code}: ", Red) + FlagNames.Rename(error) + attempts);
        if (CallerProof.Advice(error.Accepted) is { Length: > 0 } advice)
        {
            console.Error.WriteLine($"  {FlagNames.Rename(advice)}");
        }

        foreach (object detail in error.Details.Take(MaxDetails))
        {
            console.Error.WriteLine($"  {Paint(console, TextOf(detail), Faint)}");
        }

        if (error.Details.Count > MaxDetails)
        {
            console.Error.WriteLine($"  and {error.Details.Count - MaxDetails} more details");
        }
    }

    /// <summary>Writes a failure as JSON, in the shape of a google.rpc.Status.</summary>
    public static void WriteStatus(ToolConsole console, CallFailedException failure)
    {
        RpcException error = failure.Cause;
        JsonArray details = [.. error.Details.OfType<DynamicMessage>().Select(JsonOf)];
        JsonObject status = new()
        {
            ["code"] = (int)error.Code,
            ["message"] = FlagNames.Rename(error),
            ["details"] = details,
        };
        console.WriteErrorLine(TerminalText.Neutralize(status.ToJsonString(Indented)));
    }

    private static string TextOf(object detail) => TerminalText.OneLine(
        detail is DynamicMessage message
            ? JsonOf(message).ToJsonString(Relaxed)
            : detail.ToString(),
        MaxDetailLength);

    // The ProtoJSON form of a message in an Any. Bytes of an unknown type stay base64.
    private static JsonNode JsonOf(DynamicMessage detail)
    {
        try
        {
            JsonNode? value = JsonNode.Parse(MessageFormats.Json.ToText(detail));
            if (value is not JsonObject fields)
            {
                fields = new JsonObject { ["value"] = value };
            }

            if (!fields.ContainsKey("@type"))
            {
                fields.Insert(0, "@type", $"type.googleapis.com/{detail.Type.FullName}");
            }

            return fields;
        }
        catch (RpcException)
        {
            return new JsonObject
            {
                ["@type"] = detail.Type.FullName == AnyName
                    ? (string?)detail["type_url"]
                    : $"type.googleapis.com/{detail.Type.FullName}",
                ["value"] = Convert.ToBase64String(
                    detail.Type.FullName == AnyName && detail["value"] is byte[] bytes
                        ? bytes
                        : MessageFormats.Binary.ToArray(detail)),
            };
        }
    }

    private static string Paint(ToolConsole console, string text, string colour) =>
        console.IsErrorTerminal ? $"{colour}{text}{Reset}" : text;
}

/// <summary>Error texts of the core for the command line: members that they name become options.</summary>
internal static class FlagNames
{
    private static readonly Dictionary<string, string> Options = new(StringComparer.Ordinal)
    {
        [$"{nameof(RpcClientOptions)}.{nameof(RpcClientOptions.UseTls)}"] = "--tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.UseTls)}"] = "--tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Certificate)}"] = "--cert",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.CaCertificates)}"] = "--cacert",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ClientCertificate)}"] = "--cert",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ServerName)}"] = "--servername",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.SkipCertificateCheck)}"] = "--insecure",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.AllowedGroups)}"] = "--allow-group",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.AllowedUsers)}"] = "--allow-user",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}"] = "--user",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.ServicePrincipalName)}"] = "--spn",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.Authentication)}"] = "--auth",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.Credential)}"] = "--user",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.Token)}"] = "--bearer",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.ServerUser)}"] = "--server-user",
        [$"{nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)}"] = "--max-msg-sz",
        [$"{nameof(RpcRetryPolicy)}.{nameof(RpcRetryPolicy.Count)}"] = "--retry",
        [$"{nameof(RpcRetryPolicy)}.{nameof(RpcRetryPolicy.StatusCodes)}"] = "--retry-status",
        [$"{nameof(RpcRetryPolicy)}.{nameof(RpcRetryPolicy.InitialPause)}"] = "--retry-pause",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Duration)}"] = "--duration",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.WarmUp)}"] = "--warmup",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Count)}"] = "--count",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Concurrency)}"] = "--concurrency",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.Rate)}"] = "--rate",
        [$"{nameof(RpcLoadOptions)}.{nameof(RpcLoadOptions.MaxErrors)}"] = "--max-errors",
        [$"{nameof(RpcRandomMessageOptions)}.{nameof(RpcRandomMessageOptions.MaxBytes)}"] = "--max-size",
        [$"{nameof(RpcRandomMessageOptions)}.{nameof(RpcRandomMessageOptions.StreamLength)}"] =
            "--stream-length",
        ["Give a schema"] = "Use --schema to give a schema",
        ["as an import path"] = "with --import-path",
        // Replaces terms of the library that do not apply to a command line.
        ["a byte array, "] = "",
        ["the documentation of RpcEndpoint"] = "docs/tool.md",
        ["Choose fewer services"] = "Choose fewer services with --service",
    };

    /// <summary>The text of an error. The text of a server is not changed.</summary>
    public static string Rename(RpcException error) =>
        error.IsByProtoRpc ? Rename(error.Message) : error.Message;

    /// <summary>A text of the core.</summary>
    public static string Rename(string text) =>
        MemberTexts.Rename(text, name => Options.GetValueOrDefault(name));
}
