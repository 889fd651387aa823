using System.Runtime.Versioning;
using System.Security.Principal;

namespace ProtoRpc.Security;

/// <summary>Decides whether the account that runs the server of a local endpoint may get tokens and
/// passwords. Any account can listen at a path or under a name that is free.</summary>
internal static class ServerAccount
{
    /// <summary>Checks the account that a client names as the server's, if it names one.</summary>
    /// <exception cref="RpcException">InvalidArgument: the system has no such account, or does not report
    /// which account runs the server of the endpoint.</exception>
    public static void Check(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        if (security.ServerUser is not { } name)
        {
            return;
        }

        if (!endpoint.Has(EndpointFeatures.KnowsServer) || endpoint.Host.Length > 0)
        {
            throw ClientSecurityErrors.NoServerUser(endpoint);
        }

        if (OperatingSystem.IsWindows())
        {
            SidOf(name);
        }
        else
        {
            UserIdOf(name);
        }
    }

    /// <summary>The id of an account, by its name or its number.</summary>
    /// <returns>Null if the machine has no such account.</returns>
    [UnsupportedOSPlatform("windows")]
    public static uint? FindUserId(string name) =>
        UnixAccounts.FindUserId(name)
        ?? (uint.TryParse(name, NumberStyles.None, CultureInfo.InvariantCulture, out uint id) ? id : null);

    /// <summary>The SID of an account or a group, by its name or as text.</summary>
    /// <returns>Null if the machine has no such account.</returns>
    [SupportedOSPlatform("windows")]
    public static SecurityIdentifier? FindSid(string name)
    {
        try
        {
            return name.StartsWith("S-1-", StringComparison.OrdinalIgnoreCase)
                ? new SecurityIdentifier(name)
                : (SecurityIdentifier)new NTAccount(name).Translate(typeof(SecurityIdentifier));
        }
        catch (Exception e) when (e is IdentityNotMappedException or ArgumentException or SystemException)
        {
            return null;
        }
    }

    /// <summary>Requires that the server runs as root, as the client's own account, or as the given
    /// account.</summary>
    /// <param name="endpoint">The server's endpoint.</param>
    /// <param name="server">The user id of the server; null if the system does not report it.</param>
    /// <param name="named">The account that the client names; null for none.</param>
    /// <exception cref="RpcException">PermissionDenied: another account runs the server.</exception>
    [UnsupportedOSPlatform("windows")]
    public static void Require(RpcEndpoint endpoint, uint? server, string? named)
    {
        uint? expected = named is null ? null : UserIdOf(named);
        if (!MayHaveSecrets(server, expected, UnixAccounts.EffectiveUserId, UnixAccounts.UnmappedUserId))
        {
            throw server is not { } id ? Unknown(endpoint)
                : id == UnixAccounts.UnmappedUserId ? Unmapped(endpoint, id)
                : NotTrusted(
                    endpoint, UnixAccounts.NameOf(id) is var name && name == Number(id)
                        ? Number(id)
                        : $"{name} ({Number(id)})",
                    Number(id), named);
        }
    }

    /// <inheritdoc cref="Require(RpcEndpoint, uint?, string?)"/>
    /// <param name="endpoint">The server's endpoint.</param>
    /// <param name="server">The account of the server; null if the system does not report it.</param>
    /// <param name="named">The account that the client names; null for none.</param>
    [SupportedOSPlatform("windows")]
    public static void Require(RpcEndpoint endpoint, SecurityIdentifier? server, string? named)
    {
        using WindowsIdentity self = WindowsIdentity.GetCurrent();

        // Owner is the account to which the system assigns new objects: under Wine, a group.
        bool isTrusted = server is not null
            && (server == self.User || server == self.Owner
                || server.IsWellKnown(WellKnownSidType.LocalSystemSid)
                || server.IsWellKnown(WellKnownSidType.BuiltinAdministratorsSid)
                || (named is not null && server == SidOf(named)));
        if (!isTrusted)
        {
            throw server is null
                ? Unknown(endpoint)
                : NotTrusted(endpoint, NameOf(server), server.Value, named);
        }
    }

    /// <summary>Whether the server's account is one that may receive secrets.</summary>
    /// <param name="server">The user id of the server.</param>
    /// <param name="named">The user id that the client names.</param>
    /// <param name="own">The user id of this process.</param>
    /// <param name="unmapped">The id that stands for all users without an id in this container.</param>
    internal static bool MayHaveSecrets(uint? server, uint? named, uint own, uint? unmapped) =>
        server is { } id
        && (id == named || (id != unmapped && (id == 0 || id == own)));

    [UnsupportedOSPlatform("windows")]
    private static uint UserIdOf(string name) => FindUserId(name) ?? throw NoSuchAccount(name);

    [SupportedOSPlatform("windows")]
    private static SecurityIdentifier SidOf(string name) => FindSid(name) ?? throw NoSuchAccount(name);

    [SupportedOSPlatform("windows")]
    private static string NameOf(SecurityIdentifier account)
    {
        try
        {
            return account.Translate(typeof(NTAccount)).Value;
        }
        catch (Exception e) when (e is IdentityNotMappedException or SystemException)
        {
            return account.Value;
        }
    }

    private static string Number(uint id) => id.ToString(CultureInfo.InvariantCulture);

    private static RpcException NoSuchAccount(string name) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
        $"{Member} is '{TerminalText.Neutralize(name)}', but this machine has no such account.");

    private static RpcException NotTrusted(
        RpcEndpoint endpoint, string server, string id, string? named) => Denied(
            endpoint,
            $"The account {TerminalText.Neutralize(server)} runs the server at '{endpoint}', and "
            + (named is null
                ? "this client sends tokens and passwords only to its own account and "
                    + (OperatingSystem.IsWindows() ? "administrators" : "root")
                : $"{Member} requires '{TerminalText.Neutralize(named)}'")
            + $". If that is the right server, set {Member} to '{id}'.");

    private static RpcException Unmapped(RpcEndpoint endpoint, uint id) => Denied(
        endpoint,
        $"The account that runs the server at '{endpoint}' has no id in this container ({Number(id)} stands "
        + "for all such accounts), so this client sends no token or password. If only trusted accounts can "
        + $"listen there, set {Member} to '{Number(id)}'.");

    private static RpcException Unknown(RpcEndpoint endpoint) => Denied(
        endpoint,
        $"This system does not report which account runs the server at '{endpoint}', so this client sends no "
        + "token or password. Use an endpoint with TLS.");

    private static RpcException Denied(RpcEndpoint endpoint, string text) => new(
        RpcStatusCode.PermissionDenied, RpcErrorIds.ServerAccountNotTrusted,
        text, endpoint);

    /// <summary>The setting that names the account.</summary>
    public static string Member => $"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.ServerUser)}";
}
