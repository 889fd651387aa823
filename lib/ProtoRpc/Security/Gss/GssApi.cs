using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Gss;

/// <summary>The functions of MIT's GSSAPI library that are used here (RFC 2744, and the IOV
/// extensions).</summary>
internal static unsafe partial class GssApi
{
    public const uint ContinueNeeded = 1;
    public const uint Failures = 0xFFFF0000;
    public const int Initiate = 1;
    public const int Accept = 2;

    /// <summary>Mutual, replay and sequence detection, confidentiality, integrity, and the third leg of
    /// DCE.</summary>
    public const uint ContextFlags = 0x02 | 0x04 | 0x08 | 0x10 | 0x20 | DceStyle;

    public const uint Confidentiality = 0x10;
    public const uint Integrity = 0x20;
    private const uint DceStyle = 0x1000;
    private const string Library = "libgssapi_krb5.so.2";

    private static readonly bool Found = OperatingSystem.IsLinux() && NativeLibrary.TryLoad(Library, out _);

    /// <summary>Whether the library is there.</summary>
    public static bool IsAvailable => Found;

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the library.
    [LibraryImport(Library)]
    public static partial uint gss_import_name(uint* minor, GssBuffer* text, GssOid* type, nint* name);

    [LibraryImport(Library)]
    public static partial uint gss_display_name(uint* minor, nint name, GssBuffer* text, nint* type);

    [LibraryImport(Library)]
    public static partial uint gss_release_name(uint* minor, nint* name);

    [LibraryImport(Library)]
    public static partial uint gss_release_buffer(uint* minor, GssBuffer* buffer);

    [LibraryImport(Library)]
    public static partial uint gss_display_status(
        uint* minor, uint status, int type, GssOid* mechanism, uint* more, GssBuffer* text);

    [LibraryImport(Library)]
    public static partial uint gss_acquire_cred(
        uint* minor, nint name, uint time, GssOidSet* mechanisms, int usage, nint* credential, nint* actual,
        uint* left);

    [LibraryImport(Library)]
    public static partial uint gss_acquire_cred_with_password(
        uint* minor, nint name, GssBuffer* password, uint time, GssOidSet* mechanisms, int usage,
        nint* credential, nint* actual, uint* left);

    [LibraryImport(Library)]
    public static partial uint gss_release_cred(uint* minor, nint* credential);

    [LibraryImport(Library)]
    public static partial uint gss_init_sec_context(
        uint* minor, nint credential, nint* context, nint target, GssOid* mechanism, uint flags, uint time,
        nint bindings, GssBuffer* input, nint* actual, GssBuffer* output, uint* got, uint* left);

    [LibraryImport(Library)]
    public static partial uint gss_accept_sec_context(
        uint* minor, nint* context, nint credential, GssBuffer* input, nint bindings, nint* caller,
        nint* mechanism, GssBuffer* output, uint* got, uint* left, nint* delegated);

    [LibraryImport(Library)]
    public static partial uint gss_delete_sec_context(uint* minor, nint* context, GssBuffer* output);

    [LibraryImport(Library)]
    public static partial uint gss_get_mic(
        uint* minor, nint context, uint quality, GssBuffer* message, GssBuffer* code);

    [LibraryImport(Library)]
    public static partial uint gss_verify_mic(
        uint* minor, nint context, GssBuffer* message, GssBuffer* code, uint* quality);

    [LibraryImport(Library)]
    public static partial uint gss_get_mic_iov_length(
        uint* minor, nint context, uint quality, GssIov* parts, int count);

    [LibraryImport(Library)]
    public static partial uint gss_wrap_iov_length(
        uint* minor, nint context, int encrypt, uint quality, int* encrypted, GssIov* parts, int count);

    [LibraryImport(Library)]
    public static partial uint gss_wrap_iov(
        uint* minor, nint context, int encrypt, uint quality, int* encrypted, GssIov* parts, int count);

    [LibraryImport(Library)]
    public static partial uint gss_unwrap_iov(
        uint* minor, nint context, int* encrypted, uint* quality, GssIov* parts, int count);
#pragma warning restore SYSLIB1054, IDE1006
}

/// <summary><c>gss_buffer_desc</c>: octets and how many.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct GssBuffer(byte* value, int length)
{
    public nuint Length = (nuint)length;
    public byte* Value = value;

    public readonly ReadOnlySpan<byte> Span => new(Value, checked((int)Length));

    /// <summary>Copies memory that the library allocated, and frees it.</summary>
    public static byte[] Take(ref GssBuffer buffer)
    {
        byte[] bytes = buffer.Span.ToArray();
        uint minor;
        fixed (GssBuffer* pointer = &buffer)
        {
            GssApi.gss_release_buffer(&minor, pointer);
        }

        return bytes;
    }
}

/// <summary><c>gss_iov_buffer_desc</c>: a part of a message, and its type.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct GssIov(uint type, GssBuffer buffer)
{
    public const uint Data = 1;
    public const uint Header = 2;
    public const uint SignOnly = 11;
    public const uint Mic = 12;

    public uint Type = type;
    public GssBuffer Buffer = buffer;
}

/// <summary><c>gss_OID_desc</c>: an object identifier.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct GssOid
{
    private uint _length;
    private byte* _elements;

    /// <summary>Kerberos; the memory lives as long as the process.</summary>
    public static GssOid* Kerberos { get; } = Make([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02]);

    /// <summary>A name that is written as Kerberos writes it: <c>host/server@REALM</c>.</summary>
    public static GssOid* PrincipalName { get; } =
        Make([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02, 0x01]);

    private static GssOid* Make(ReadOnlySpan<byte> elements)
    {
        GssOid* oid = (GssOid*)NativeMemory.Alloc((nuint)sizeof(GssOid));
        oid->_length = (uint)elements.Length;
        oid->_elements = (byte*)NativeMemory.Alloc((nuint)elements.Length);
        elements.CopyTo(new Span<byte>(oid->_elements, elements.Length));
        return oid;
    }
}

/// <summary><c>gss_OID_set_desc</c> of one object identifier.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct GssOidSet(GssOid* only)
{
    private readonly nuint _count = 1;
    private readonly GssOid* _elements = only;
}

/// <summary>Creates exceptions from the errors of the library.</summary>
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
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NoKerberosKey,
        $"The listener has no Kerberos key{(service is null ? "" : $" of '{service}'")}: "
        + $"{Text(major, minor)}. "
        + "Put the service's key into the machine's keytab, or name another with KRB5_KTNAME.");

    // The text of a general failure contains no reason, so the mechanism's text is used. "Success" as the
    // mechanism's text contains none either.
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
