using System.Buffers;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A reader of frames of gRPC, gRPC-Web or Connect.</summary>
internal abstract class FrameTarget : FuzzTarget
{
    /// <summary>The longest message, in bytes.</summary>
    protected const int MaxBytes = 1 << 20;

    /// <summary>Requires that frames do not depend on how they arrive.</summary>
    /// <param name="bytes">The frames.</param>
    /// <param name="rules">Their rules.</param>
    /// <param name="meter">Measures the reading.</param>
    /// <param name="describe">Returns all that a frame has.</param>
    /// <param name="violations">The statuses of wrong frames.</param>
    /// <returns>Whether there was a frame.</returns>
    protected static bool Frames(
        byte[] bytes, FrameRules rules, Meter meter, Func<GrpcFrame, string> describe,
        params RpcStatusCode[] violations)
    {
        (List<string> whole, string wholeEnd) = meter.Measure(() => Split(new ReadOnlySequence<byte>(bytes)));
        (List<string> pieces, string piecesEnd) = Split(Segments.Of(bytes, 3));
        Require(
            wholeEnd == piecesEnd && whole.SequenceEqual(pieces), "the same frames in one piece and in many");
        return whole.Count > 0;

        (List<string> Frames, string End) Split(ReadOnlySequence<byte> buffer)
        {
            List<string> frames = [];
            try
            {
                while (GrpcFraming.TryRead(ref buffer, MaxBytes, out GrpcFrame frame, rules))
                {
                    frames.Add(describe(frame));
                }

                return (frames, $"{buffer.Length} are left");
            }
            catch (RpcException e) when (violations.Contains(e.Code))
            {
                return (frames, e.Message);
            }
        }
    }
}
