using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Sspi;

/// <summary><c>SecHandle</c>: a credential or a context.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SspiHandle
{
    private nuint _lower;
    private nuint _upper;
}
