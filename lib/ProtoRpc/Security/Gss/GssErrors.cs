using System.Text;

namespace ProtoRpc.Security.Gss;

/// <summary>Makes exceptions of what the library says.</summary>
internal static unsafe class GssErrors
{
    public const string Mechanism = "Kerberos";
    private const uint GeneralFailure = 13 << 16;
    private const int OfGss = 1;
    private const int OfMechanism = 2;

    /// <summary>A token, a ticket or a password proves nothing.</summary>
    public static RpcException Refused(uint major, uint minor) =>
        SecurityErrors.Refused(Mechanism, Text(major, minor));

    /// <summary>The account that this process runs as has no ticket.</summary>
    public static RpcException NoTicket(uint major, uint minor) => SecurityErrors.Refused(
        Mechanism,
        $"{Text(major, minor)}. Get a ticket with kinit, or authenticate as User with a credential");

    /// <summary>The listener has no key to verify with.</summary>
    public static RpcException NoKey(string? service, uint major, uint minor) => new(
        RpcStatusCode.FailedPrecondition,
        $"The listener has no Kerberos key{(service is null ? "" : $" of '{service}'")}: "
        + $"{Text(major, minor)}. "
        + "Put the service's key into the machine's keytab, or name another with KRB5_KTNAME.")
    {
        ErrorId = RpcErrorIds.NoKerberosKey,
    };

    // A general failure says nothing by itself; the mechanism's text does, but where it adds nothing it is
    // "Success".
    private static string Text(uint major, uint minor)
    {
        string detail = minor == 0 ? "" : Display(minor, OfMechanism).TrimEnd('.');
        if ((major & GssApi.Failures) == GeneralFailure && detail.Length > 0)
        {
            return detail;
        }

        string text = Display(major, OfGss).TrimEnd('.');
        return detail is "" or "Success" ? text : $"{text}: {detail}";
    }

    private static string Display(uint status, int type)
    {
        List<string> lines = [];
        uint more = 0;
        do
        {
            uint minor;
            GssBuffer text = default;
            uint major = GssApi.gss_display_status(&minor, status, type, GssOid.Kerberos, &more, &text);
            if ((major & GssApi.Failures) != 0)
            {
                break;
            }

            lines.Add(Encoding.UTF8.GetString(GssBuffer.Take(ref text)));
        }
        while (more != 0);
        return string.Join("; ", lines);
    }
}
