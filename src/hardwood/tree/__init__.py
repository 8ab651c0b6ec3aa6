"""What was learned: trees and every conversion between their forms, reach, placing, statistics."""
