using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Gss;

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
