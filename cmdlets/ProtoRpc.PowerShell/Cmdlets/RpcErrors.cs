using System.Collections.Specialized;
using System.Text.RegularExpressions;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Converts an <see cref="RpcException"/> to an error record, and creates the errors of the
/// cmdlets.</summary>
internal static class RpcErrors
{
    private static readonly MessageMapper Objects = new(NeutralObjectModel.Instance);

    /// <param name="exception">The failure.</param>
    /// <param name="target">The target object, unless the failure concerns a row.</param>
    /// <param name="row">The pipeline object that failed; null for none.</param>
    public static ErrorRecord ToRecord(RpcException exception, object? target, PipelineRow? row = null)
    {
        exception.Details = exception.Details.Select(ToShellObject).ToArray();
        if (exception.Extensions is DynamicMessage extensions)
        {
            exception.Extensions = HeaderExtensionMap.ToDictionary(extensions);
        }

        // The text of a server's error is not changed.
        string text = exception.Endpoint is null ? exception.Message : TextOf(exception);
        string worded = exception.IsAnswer ? text : ParameterWording.Rename(text);
        if (CallerProof.Advice(exception.Accepted) is { Length: > 0 } advice)
        {
            worded += " " + ParameterWording.Rename(advice);
        }

        string shown = row is null ? worded : $"Row {row.Number}: {worded}";
        if (row is not null && exception is { FieldPath: not null, Endpoint: null })
        {
            // The request was not built or sent. The exception's text also names the row, because scripts
            // often log only that.
            exception = new(exception.Code, shown, exception)
            {
                ErrorId = exception.ErrorId,
                FieldPath = exception.FieldPath,
            };
        }

        ErrorRecord record = new(
            exception, exception.ErrorId, CategoryOf(exception.Code),
            row?.Input ?? target ?? exception.MethodName);
        if (row is not null || exception.Endpoint is not null || worded != text
            || exception.Details.Count > 0)
        {
            // Scripts show the text in one paragraph; the prompt shows line breaks.
            record.ErrorDetails = new(string.Join("\n  ", [shown, .. DetailLines.Format(exception.Details)]));
        }

        return record;
    }

    // A detail that the server added, with its type as a handler writes it.
    private static object ToShellObject(object detail)
    {
        try
        {
            return detail is DynamicMessage message ? Objects.ToTypedObject(message) : detail;
        }
        catch (RpcException)
        {
            // The detail is nested too deeply for an object.
            return detail;
        }
    }

    /// <summary>The text that the shell shows for a failure at an endpoint: status, text, method, endpoint,
    /// and the number of attempts if there were several. The exception's message is the handler's text alone,
    /// so scripts find the same text on every endpoint.</summary>
    public static string TextOf(RpcException error)
    {
        string where = string.Join(" at ", PlacesOf(error));
        if (error.Attempts > 1)
        {
            where = $"{where}{(where.Length > 0 ? ", " : "")}{error.Attempts} attempts";
        }

        string text = $"{error.Code}: {error.Message}";

        // A peer may choose the name of a method or an endpoint, and a terminal would execute its escape
        // sequences.
        return TerminalText.Neutralize(where.Length > 0 ? $"{text} ({where})" : text);
    }

    public static ErrorCategory CategoryOf(RpcStatusCode code) =>
        Enum.Parse<ErrorCategory>(RpcStatusTable.CategoryOf(code));

    public static RpcException NotAFile(string path, string why, Exception? inner = null) =>
        new(RpcStatusCode.NotFound, RpcErrorIds.FileNotFound, $"Cannot read '{path}': {why}.", inner);

    public static RpcException NotOnFileSystem(string path, ProviderInfo provider) => new(
        RpcStatusCode.NotFound, RpcErrorIds.FileNotFound,
        $"'{path}' is not on the file system: it is on the provider {provider.Name}. Give a full path, or "
        + "change to a folder with Set-Location.");

    public static RpcException NoSchema(RpcConnection connection) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NoSchema,
        $"The connection to {connection} has no schema. Give Connect-RpcEndpoint a -Schema."
        + (connection.Endpoint.IsHttp
            ? " A ProtoRpc listener serves its schema at "
                + $"'{connection.Endpoint.Uri.TrimEnd('/')}/FILE.proto'."
            : ""));

    /// <summary>The error of a call by -Endpoint for which no schema can be found.</summary>
    public static RpcException NoSchema(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NoSchema,
        $"'{endpoint}' requires a schema, because endpoints of this kind do not publish schemas. "
        + "Give -Schema.");

    // The method and the endpoint, unless the text already names them.
    private static IEnumerable<string> PlacesOf(RpcException error)
    {
        if (error.MethodName is { } method && !error.Message.Contains(method, StringComparison.Ordinal))
        {
            yield return method[(method.LastIndexOf('/') + 1)..];
        }

        if (error.Endpoint is { } endpoint
            && !error.Message.Contains(endpoint.ToString(), StringComparison.OrdinalIgnoreCase)
            && !error.Message.Contains(endpoint.Uri, StringComparison.OrdinalIgnoreCase))
        {
            yield return endpoint.ToString();
        }
    }
}

/// <summary>Rewords error texts of the core for the shell: replaces the names of members by those of
/// parameters.</summary>
internal static partial class ParameterWording
{
    private const string Limits = $"{nameof(RpcLimits)}.";
    private const string OfConnection = "of -ConnectionOption";
    private const string OfListener = "of -ListenerOption";

    private static readonly Dictionary<string, string> Parameters = new(StringComparer.Ordinal)
    {
        [$"{nameof(RpcClientOptions)}.{nameof(RpcClientOptions.UseTls)}"] =
            $"{nameof(RpcConnectionOption.Tls)} {OfConnection}",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.UseTls)}"] = "-Tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Certificate)}"] = "-Certificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.CaCertificates)}"] =
            $"{nameof(RpcConnectionOption.CACertificate)} {OfConnection}",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ClientCertificate)}"] = "-ClientCertificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ServerName)}"] =
            $"{nameof(RpcConnectionOption.ServerName)} {OfConnection}",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.SkipCertificateCheck)}"] =
            $"{nameof(RpcConnectionOption.SkipCertificateCheck)} {OfConnection}",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Interceptors)}"] = "-Authorization",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.Authentication)}"] = "-Authentication",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.AllowedGroups)}"] =
            $"{nameof(RpcListenerOption.AllowedGroup)} {OfListener}",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.AllowedUsers)}"] =
            $"{nameof(RpcListenerOption.AllowedUser)} {OfListener}",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}"] =
            $"{nameof(RpcListenerOption.NtlmAccount)} {OfListener}",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.ServicePrincipalName)}"] =
            $"{nameof(RpcListenerOption.ServicePrincipalName)} {OfListener}",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.Authentication)}"] =
            $"{nameof(RpcConnectionOption.Authentication)} {OfConnection}",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.Credential)}"] =
            $"{nameof(RpcConnectionOption.Credential)} {OfConnection}",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.Token)}"] =
            $"{nameof(RpcConnectionOption.Token)} {OfConnection}",
        [$"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.ServerUser)}"] =
            $"{nameof(RpcConnectionOption.ServerUser)} {OfConnection}",
        [$"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.Credential)}"] =
            $"{nameof(RpcConnectionOption.Credential)} {OfConnection}",
        [$"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.Token)}"] =
            $"{nameof(RpcConnectionOption.Token)} {OfConnection}",
        [$"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.UserName)}"] =
            $"{nameof(RpcConnectionOption.UserName)} {OfConnection}",
        ["Give a schema"] = "Use -Schema to give a schema",
        ["as an import path"] = "with Import-RpcSchema -ImportPath",
        ["allow unencrypted traffic"] = "use -AllowUnencrypted",
        ["the documentation of RpcEndpoint"] = "about_ProtoRpc_Endpoints",
        ["Choose fewer services"] = "Choose fewer services with -Service",
    };

    /// <summary>Names a setting of connections as a parameter where the cmdlet has one.</summary>
    public static void NameParameters(ErrorRecord record, CommandInfo? command)
    {
        if (record.ErrorDetails?.Message is { } text
            && text.Contains(OfConnection, StringComparison.Ordinal)
            && record.Exception is RpcException && command?.Parameters is { } all)
        {
            record.ErrorDetails = new(Setting().Replace(
                text, match => all.ContainsKey(match.Groups["name"].Value)
                    ? $"-{match.Groups["name"].Value}"
                    : match.Value))
            {
                RecommendedAction = record.ErrorDetails.RecommendedAction,
            };
        }
    }

    /// <returns>The text with the names of parameters and settings. A member of the limits becomes 'NAME of
    /// Limits': a listener has them as a parameter, a connection as a setting.</returns>
    public static string Rename(string text) => MemberTexts.Rename(
        text, name => name.StartsWith(Limits, StringComparison.Ordinal)
            ? $"{name[Limits.Length..]} of Limits"
            : Parameters.GetValueOrDefault(name));

    [GeneratedRegex(@"\b(?<name>[A-Za-z]+) of -ConnectionOption\b", RegexOptions.CultureInvariant)]
    private static partial Regex Setting();
}

/// <summary>Makes objects that the shell shows with an error. Control characters in the peer's texts are
/// replaced by their numbers.</summary>
internal sealed class NeutralObjectModel : PSObjectModel, IObjectModel
{
    public static new NeutralObjectModel Instance { get; } = new();

    // A deferred value would be read as it is.
    bool IObjectModel.Defers => false;

    public override object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
        base.CreateObject(source, fields, [.. values.Select(Neutral)]);

    public override object CreateAny(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values) =>
        base.CreateAny(source, names, [.. values.Select(Neutral)]);

    private static object? Neutral(object? value) => value switch
    {
        string text => TerminalText.Neutralize(text),
        IDictionary map => Neutral(map),
        object[] list => Array.ConvertAll(list, Neutral),
        _ => value,
    };

    private static OrderedDictionary Neutral(IDictionary map)
    {
        OrderedDictionary neutral = new(MapKeys.Boxed);
        foreach (DictionaryEntry entry in map)
        {
            neutral[Neutral(entry.Key)!] = Neutral(entry.Value);
        }

        return neutral;
    }
}
