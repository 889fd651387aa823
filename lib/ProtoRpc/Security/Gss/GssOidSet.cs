using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Gss;

/// <summary><c>gss_OID_set_desc</c> of one object identifier.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct GssOidSet(GssOid* only)
{
    private readonly nuint _count = 1;
    private readonly GssOid* _elements = only;
}
