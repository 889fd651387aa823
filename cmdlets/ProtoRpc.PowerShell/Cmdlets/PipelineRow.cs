namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>A pipeline object, for the errors that it causes.</summary>
/// <param name="Number">The position in the pipeline, counted from 1, like the rows of a table below its
/// header.</param>
/// <param name="Input">The object.</param>
internal sealed record PipelineRow(long Number, object Input);
