using System.Runtime.InteropServices;
using System.Text;

namespace ProtoRpc.Security.Gss;

/// <summary>The name of a user or service.</summary>
internal sealed unsafe class GssName : SafeHandle
{
    /// <summary>Reads a name as Kerberos writes it.</summary>
    /// <exception cref="RpcException">Unauthenticated: that is no name.</exception>
    public GssName(string principal)
        : base(0, ownsHandle: true)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(principal);
        uint minor;
        nint name = 0;
        fixed (byte* pointer = bytes)
        {
            GssBuffer text = new(pointer, bytes.Length);
            uint major = GssApi.gss_import_name(&minor, &text, GssOid.PrincipalName, &name);
            if ((major & GssApi.Failures) != 0)
            {
                throw GssErrors.Refused(major, minor);
            }
        }

        SetHandle(name);
    }

    /// <inheritdoc/>
    public override bool IsInvalid => handle == 0;

    /// <summary>What a name of the library says.</summary>
    public static string Display(nint name)
    {
        uint minor;
        GssBuffer text = default;
        uint major = GssApi.gss_display_name(&minor, name, &text, null);
        return (major & GssApi.Failures) == 0
            ? Encoding.UTF8.GetString(GssBuffer.Take(ref text))
            : throw GssErrors.Refused(major, minor);
    }

    /// <inheritdoc/>
    protected override bool ReleaseHandle()
    {
        uint minor;
        nint name = handle;
        return GssApi.gss_release_name(&minor, &name) == 0;
    }
}
