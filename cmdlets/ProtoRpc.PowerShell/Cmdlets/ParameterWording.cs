using System.Text.RegularExpressions;

namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Error texts of the core for the shell: the members that they name become parameters.</summary>
internal static partial class ParameterWording
{
    private static readonly Dictionary<string, string> Parameters = new(StringComparer.Ordinal)
    {
        [$"{nameof(RpcClientOptions)}.{nameof(RpcClientOptions.UseTls)}"] = "-Tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.UseTls)}"] = "-Tls",
        [$"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Certificate)}"] = "-Certificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.CaCertificates)}"] = "-CACertificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ClientCertificate)}"] = "-ClientCertificate",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.ServerName)}"] = "-ServerName",
        [$"{nameof(RpcTlsOptions)}.{nameof(RpcTlsOptions.SkipCertificateCheck)}"] = "-SkipCertificateCheck",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}"] = "-NtlmAccount",
        [$"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.ServicePrincipalName)}"] =
            "-ServicePrincipalName",
        [$"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.UserName)}"] = "-UserName",
        ["Give a schema"] = "Use -Schema to give a schema",
        ["Choose fewer services"] = "Choose fewer services with -Service",
    };

    /// <returns>The text with parameters; a member of the limits becomes 'NAME of -Limits'.</returns>
    public static string Of(string text) => Members().Replace(
        text, match => match.Groups["limit"] is { Success: true } limit
            ? $"{limit.Value} of -Limits"
            : Parameters.GetValueOrDefault(match.Value, match.Value));

    [GeneratedRegex(
        @"\bRpc(?:(?:Client|Server|Tls)Options|ServerSecurity|NamedEndpoint)\.[A-Za-z]+\b"
        + @"|\bRpcLimits\.(?<limit>[A-Za-z]+)\b|\bGive a schema\b|\bChoose fewer services\b",
        RegexOptions.CultureInvariant | RegexOptions.ExplicitCapture)]
    private static partial Regex Members();
}
